model { hidden = 64
--| syntax_end.lua:3: error: '}' expected (to close '{' at line 1) near <eof>
