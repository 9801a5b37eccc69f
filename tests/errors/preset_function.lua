local mine = require "beside_function"
model(mine {
  experts = 9999,
  top_k = 99,
})
topology { gpu = "H200", gpus = 2 }
workload { tokens_per_gpu = 8192 }
--| preset_function.lua:3:3: error: model.experts is 9999; legal: 1 to 4096
--|     experts = 9999,
--|     ^~~~~~~
--| preset_function.lua:4:3: error: model.top_k is 99; legal: 1 to 64
--|     top_k = 99,
--|     ^~~~~
