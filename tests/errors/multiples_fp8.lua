model { hidden = 7176, intermediate = 8, experts = 8, top_k = 2, dtype = "fp8_block128" }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64 }
--| multiples_fp8.lua:1:9: error: model.hidden is 7176, which is no multiple of 16 (dtype fp8_block128)
--|   model { hidden = 7176, intermediate = 8, experts = 8, top_k = 2, dtype = "fp8_block128" }
--|           ^~~~~~
--| hint: the nearest legal values are 7168 and 7184
--| multiples_fp8.lua:1:24: error: model.intermediate is 8, which is no multiple of 16 (dtype fp8_block128)
--|   model { hidden = 7176, intermediate = 8, experts = 8, top_k = 2, dtype = "fp8_block128" }
--|                          ^~~~~~~~~~~~
--| hint: the nearest legal value is 16
