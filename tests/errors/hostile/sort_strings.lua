local a, b = ("x"):rep(3000000) .. "a", ("x"):rep(3000000) .. "b"
local t = {}
for i = 1, 50000 do t[i] = i % 2 == 0 and a or b end
table.sort(t)
--| sort_strings.lua:4: error: the description runs too long: the limits are 20 million instructions and 500 ms
--|   table.sort(t)
--| hint: is there a loop that does not end, or one over very long strings or tables?
