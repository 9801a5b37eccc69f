local s = ("a"):rep(30)
local found = s:find(("a?"):rep(30) .. ("a"):rep(30))
--| pattern_bomb.lua:2:17: error: attempt to call a nil value (method 'find')
--|   local found = s:find(("a?"):rep(30) .. ("a"):rep(30))
--|                   ^~~~
--| hint: patterns are not available: use sub, byte, rep, format, lower, upper
