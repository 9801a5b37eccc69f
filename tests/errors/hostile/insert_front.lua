local t = {}
for i = 1, 300000 do t[i] = i end
while true do table.insert(t, 1, 0) table.remove(t, 1) end
--| insert_front.lua:3: error: the description runs too long: the limits are 20 million instructions and 500 ms
--|   while true do table.insert(t, 1, 0) table.remove(t, 1) end
--| hint: is there a loop that does not end, or one over very long strings or tables?
