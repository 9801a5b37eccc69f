local kimi = require "kimi-k2"
local all = {}
for i = 1, 1e9 do
  all[i] = kimi { experts = i }
end
--| preset_tables.lua:4: error: the description needs more than 16 MiB of memory
--|     all[i] = kimi { experts = i }
--| hint: is there a loop or a recursion that does not end?
