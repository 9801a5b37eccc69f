require "beside_cycle"
--| beside_cycle.lua:1: error: 'beside_cycle' requires itself, directly or through others
--|   return require "beside_cycle"
