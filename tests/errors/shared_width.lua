model { hidden = 64, intermediate = 64, experts = 8, top_k = 2, shared_intermediate = 64 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64 }
--| shared_width.lua:1:65: error: model.shared_intermediate is 64, but model.shared_experts is 0
--|   model { hidden = 64, intermediate = 64, experts = 8, top_k = 2, shared_intermediate = 64 }
--|                                                                   ^~~~~~~~~~~~~~~~~~~
--| hint: add shared_experts = 1, or drop shared_intermediate
