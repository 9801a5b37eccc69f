model(require "beside_syntax" {})
--| beside_syntax.lua:1: error: unexpected symbol near '='
--|   return preset { hidden = = 3 }
