model { name = ("%p"):format({}) }
--| format_pointer.lua:1: error: string.format: '%p' is not available: addresses differ from run to run
--|   model { name = ("%p"):format({}) }
