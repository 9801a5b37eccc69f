load("while true do end")()
--| load_text.lua:1:1: error: unknown name 'load'
--|   load("while true do end")()
--|   ^~~~
--| hint: a description loads no code; require "name" reads name.lua beside it
