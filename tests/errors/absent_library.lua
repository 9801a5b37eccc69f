local name = ("layer-7"):match("%d")
--| absent_library.lua:1:26: error: attempt to call a nil value (method 'match')
--|   local name = ("layer-7"):match("%d")
--|                            ^~~~~
--| hint: patterns are not available: use sub, byte, rep, format, lower, upper
