local s = ("x"):rep(1e9)
--| rep_1e9.lua:1: error: string.rep: the result is longer than 8 MiB
--|   local s = ("x"):rep(1e9)
