local s = ("%99999d"):format(1)
--| format_width.lua:1: error: invalid conversion specification: '%99999d'
--|   local s = ("%99999d"):format(1)
