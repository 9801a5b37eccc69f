local s = ("1"):rep(4000000)
while true do local a, b = tonumber(s), tonumber(s, 10) end
--| tonumber_storm.lua:2: error: the description runs too long: the limits are 20 million instructions and 500 ms
--|   while true do local a, b = tonumber(s), tonumber(s, 10) end
--| hint: is there a loop that does not end, or one over very long strings or tables?
