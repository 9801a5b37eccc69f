require "beside_error"
--| beside_error.lua:1: error: attempt to perform arithmetic on a nil value
--|   local x = nil + 1
