local t = { [{}] = 1 }
for k in pairs(t) do end
--| order.lua:2: error: pairs: a key is a table, which has no order
--|   for k in pairs(t) do end
