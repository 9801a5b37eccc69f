model { hidden = 7184, intermediate = 2064, experts = 8, top_k = 2, dtype = "mxfp8" }
topology { gpu = "B200", gpus = 1 }
workload { tokens_per_gpu = 64 }
--| multiples_mxfp8.lua:1:9: error: model.hidden is 7184, which is no multiple of 32 (dtype mxfp8)
--|   model { hidden = 7184, intermediate = 2064, experts = 8, top_k = 2, dtype = "mxfp8" }
--|           ^~~~~~
--| hint: the nearest legal values are 7168 and 7200
--| multiples_mxfp8.lua:1:24: error: model.intermediate is 2064, which is no multiple of 32 (dtype mxfp8)
--|   model { hidden = 7184, intermediate = 2064, experts = 8, top_k = 2, dtype = "mxfp8" }
--|                          ^~~~~~~~~~~~
--| hint: the nearest legal values are 2048 and 2080
