local a, b = ("x"):rep(4000000) .. "a", ("x"):rep(4000000) .. "b"
local n = 0
while true do if a < b then n = n + 1 end end
--| string_compare.lua:3: error: the description runs too long: the limits are 20 million instructions and 500 ms
--|   while true do if a < b then n = n + 1 end end
--| hint: is there a loop that does not end, or one over very long strings or tables?
