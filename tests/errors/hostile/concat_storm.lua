local t = {}
for i = 1, 300000 do t[i] = i % 10 end
while true do local s = table.concat(t) end
--| concat_storm.lua:3: error: the description runs too long: the limits are 20 million instructions and 500 ms
--|   while true do local s = table.concat(t) end
--| hint: is there a loop that does not end, or one over very long strings or tables?
