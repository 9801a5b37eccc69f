local s = string.rep("", 1e9, "xyz")
--| rep_separator.lua:1: error: string.rep: the result is longer than 8 MiB
--|   local s = string.rep("", 1e9, "xyz")
