model { 7168, hidden = 64, intermediate = 64, experts = 8, top_k = 2, [true] = 1 }
topology { gpus = 1, gpu = "H200",
  "H100" }
workload { tokens_per_gpu = 64 }
--| positional.lua:1:1: error: a key of model is a boolean
--|   model { 7168, hidden = 64, intermediate = 64, experts = 8, top_k = 2, [true] = 1 }
--|   ^~~~~
--| hint: write key = value
--| positional.lua:1:9: error: an item of model has no key
--|   model { 7168, hidden = 64, intermediate = 64, experts = 8, top_k = 2, [true] = 1 }
--|           ^~~~
--| hint: write key = value
--| positional.lua:3:3: error: an item of topology has no key
--|     "H100" }
--|     ^~~~~~
--| hint: write key = value
