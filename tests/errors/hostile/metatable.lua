local meta = getmetatable("")
meta.__index = function() while true do end end
local x = ("a").b
--| metatable.lua:1:14: error: unknown name 'getmetatable'
--|   local meta = getmetatable("")
--|                ^~~~~~~~~~~~
--| hint: a description has no metatables
