local x = require(7)
--| require_number.lua:1: error: require takes the name of a preset or of a file, not a number
--|   local x = require(7)
