model { name = "open,
  hidden = 64 }
--| syntax_string.lua:1:16: error: unfinished string near '"open,'
--|   model { name = "open,
--|                  ^~~~~~
