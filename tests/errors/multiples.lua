model { hidden = 7164, intermediate = 2047, experts = 8, top_k = 2, shared_experts = 1, shared_intermediate = 12 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64 }
--| multiples.lua:1:9: error: model.hidden is 7164, which is no multiple of 8 (dtype bf16)
--|   model { hidden = 7164, intermediate = 2047, experts = 8, top_k = 2, shared_experts = 1, shared_inter...
--|           ^~~~~~
--| hint: the nearest legal values are 7160 and 7168
--| multiples.lua:1:24: error: model.intermediate is 2047, which is no multiple of 8 (dtype bf16)
--|   model { hidden = 7164, intermediate = 2047, experts = 8, top_k = 2, shared_experts = 1, shared_inter...
--|                          ^~~~~~~~~~~~
--| hint: the nearest legal values are 2040 and 2048
--| multiples.lua:1:89: error: model.shared_intermediate is 12, which is no multiple of 8 (dtype bf16)
--|   ...rts = 8, top_k = 2, shared_experts = 1, shared_intermediate = 12 }
--|                                              ^~~~~~~~~~~~~~~~~~~
--| hint: the nearest legal values are 8 and 16
