local s = ("x"):rep(50000)
while true do local x = select("#", s:byte(1, -1)) end
--| byte_storm.lua:2: error: the description runs too long: the limits are 20 million instructions and 500 ms
--|   while true do local x = select("#", s:byte(1, -1)) end
--| hint: is there a loop that does not end, or one over very long strings or tables?
