local kimi = require "kimi-k2"
for i = 1, 1e9 do
  kimi { expert = i }
end
--| preset_storm.lua:3:10: error: unknown key 'expert' in model
--|     kimi { expert = i }
--|            ^~~~~~
--| hint: did you mean 'experts'?
