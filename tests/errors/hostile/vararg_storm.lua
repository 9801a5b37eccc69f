local t = {}
for i = 1, 200000 do t[i] = i end
local function g() end
local function f(...) while true do g(...) end end
f(table.unpack(t))
--| vararg_storm.lua:5: error: the description runs too long: the limits are 20 million instructions and 500 ms
--|   f(table.unpack(t))
--| hint: is there a loop that does not end, or one over very long strings or tables?
