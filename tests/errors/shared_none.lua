model { hidden = 64, intermediate = 64, experts = 8, top_k = 2, shared_experts = 2, shared_intermediate = 0 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64 }
--| shared_none.lua:1:85: error: model.shared_intermediate is 0, but model.shared_experts is 2
--|   ...rts = 8, top_k = 2, shared_experts = 2, shared_intermediate = 0 }
--|                                              ^~~~~~~~~~~~~~~~~~~
--| hint: drop shared_intermediate: the default is shared_experts * intermediate
