assert(1 > 2, "a sentence of the user's")
--| assert_call.lua:1: error: a sentence of the user's
--|   assert(1 > 2, "a sentence of the user's")
