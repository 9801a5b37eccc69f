local t = {}
for i = 1, 100000 do t[i] = i end
table.sort(t, function() while true do end end)
--| sort_forever.lua:3: error: the description runs too long: the limits are 20 million instructions and 500 ms
--|   table.sort(t, function() while true do end end)
--| hint: is there a loop that does not end, or one over very long strings or tables?
