local t = {}
for i = 1, 1e9 do t[i] = i end
--| table_growth.lua:2: error: the description needs more than 16 MiB of memory
--|   for i = 1, 1e9 do t[i] = i end
--| hint: is there a loop or a recursion that does not end?
