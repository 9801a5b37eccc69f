local t = {}
for i = 1, 100000 do t["k" .. i] = i end
while true do for k in pairs(t) do break end end
--| pairs_storm.lua:3: error: the description runs too long: the limits are 20 million instructions and 500 ms
--|   while true do for k in pairs(t) do break end end
--| hint: is there a loop that does not end, or one over very long strings or tables?
