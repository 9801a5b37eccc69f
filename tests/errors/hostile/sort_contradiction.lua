local t = {}
for i = 1, 200 do t[i] = i * 7919 % 211 end
table.sort(t, function() return true end)
table.sort(t, function(a, b) return a <= b end)
error("sorted " .. #t)
--| sort_contradiction.lua:5: error: sorted 200
--|   error("sorted " .. #t)
