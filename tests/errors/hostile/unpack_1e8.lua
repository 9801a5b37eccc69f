local x = table.unpack({}, 1, 1e8)
--| unpack_1e8.lua:1: error: too many results to unpack
--|   local x = table.unpack({}, 1, 1e8)
