setmetatable({}, { __gc = function() while true do end end })
--| finalizer.lua:1:1: error: unknown name 'setmetatable'
--|   setmetatable({}, { __gc = function() while true do end end })
--|   ^~~~~~~~~~~~
--| hint: a description has no metatables
