model {
  hidden = 64
  intermediate = 64,
}
--| syntax_comma.lua:3:3: error: '}' expected (to close '{' at line 1) near 'intermediate'
--|     intermediate = 64,
--|     ^~~~~~~~~~~~
--| hint: is a ',' missing before 'intermediate'?
