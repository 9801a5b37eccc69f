local secret = require "../hostile/endless_loop"
--| require_path.lua:1: error: require '../hostile/endless_loop': a name has letters, digits, '.', '_' and '-' only
--|   local secret = require "../hostile/endless_loop"
--| hint: require "name" reads a preset, or name.lua beside the description
