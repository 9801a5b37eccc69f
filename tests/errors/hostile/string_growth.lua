local s = "x"
while true do s = s .. s end
--| string_growth.lua:2: error: the description needs more than 16 MiB of memory
--|   while true do s = s .. s end
--| hint: is there a loop or a recursion that does not end?
