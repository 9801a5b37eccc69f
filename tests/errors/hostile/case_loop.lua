local s = ("x"):rep(2000000)
while true do local t = s:upper() end
--| case_loop.lua:2: error: the description runs too long: the limits are 20 million instructions and 500 ms
--|   while true do local t = s:upper() end
--| hint: is there a loop that does not end, or one over very long strings or tables?
