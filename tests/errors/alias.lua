local describe = model
describe {
  hidden = 60, intermediate = 64,
  experts = 8, top_k = 2,
}
topology { gpu = "H200", gpus = 1 } workload { tokens_per_gpu = -1 }
--| alias.lua:3:3: error: model.hidden is 60, which is no multiple of 8 (dtype bf16)
--|     hidden = 60, intermediate = 64,
--|     ^~~~~~
--| hint: the nearest legal values are 56 and 64
--| alias.lua:6:48: error: workload.tokens_per_gpu is -1; legal: 0 to 65536
--|   topology { gpu = "H200", gpus = 1 } workload { tokens_per_gpu = -1 }
--|                                                  ^~~~~~~~~~~~~~
