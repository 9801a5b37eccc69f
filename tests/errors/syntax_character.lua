model { hidden = 64 × 2 }
--| syntax_character.lua:1:21: error: '}' expected near '<\195>'
--|   model { hidden = 64 × 2 }
--|                       ^
