local kimi = require "kimi-k2"
model(kimi {
  experts = 16.5,
  dtype = "mxfp8", hidden = 7176,
  expert = 3,
  "positional",
})
topology { gpu = "H200", gpus = 2 }
workload { tokens_per_gpu = 8192 }
--| preset_overrides.lua:3:3: error: model.experts must be an integer, not 16.5
--|     experts = 16.5,
--|     ^~~~~~~
--| hint: a // b divides without a fraction; math.floor(a) and math.ceil(a) round
--| preset_overrides.lua:4:20: error: model.hidden is 7176, which is no multiple of 32 (dtype mxfp8)
--|     dtype = "mxfp8", hidden = 7176,
--|                      ^~~~~~
--| hint: the nearest legal values are 7168 and 7200
--| preset_overrides.lua:5:3: error: unknown key 'expert' in model
--|     expert = 3,
--|     ^~~~~~
--| hint: did you mean 'experts'?
--| preset_overrides.lua:6:3: error: an item of model has no key
--|     "positional",
--|     ^~~~~~~~~~~~
--| hint: write key = value
