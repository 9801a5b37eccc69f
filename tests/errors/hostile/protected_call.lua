while true do pcall(string.rep, "x", 1e9) end
--| protected_call.lua:1:15: error: unknown name 'pcall'
--|   while true do pcall(string.rep, "x", 1e9) end
--|                 ^~~~~
--| hint: errors of a description cannot be caught
