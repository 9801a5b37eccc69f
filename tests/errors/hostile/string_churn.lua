local kept = {}
for i = 1, 150000 do kept[i] = "string number " .. i end
while true do local s = ("y"):rep(200000) .. "z" end
--| string_churn.lua:3: error: the description needs more than 16 MiB of memory
--|   while true do local s = ("y"):rep(200000) .. "z" end
--| hint: is there a loop or a recursion that does not end?
