error({ code = 1 })
--| error_table.lua:1: error: error with a value that is no string
--|   error({ code = 1 })
