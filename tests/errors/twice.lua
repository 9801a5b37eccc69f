model { hidden = 64, intermediate = 64, experts = 8, top_k = 2, experts = 16 }
topology { gpu = "H200", gpus = 1 }
topology { gpu = "H100", gpus = 2 }
workload { tokens_per_gpu = 64 }
--| twice.lua:1:65: error: model.experts is given twice
--|   model { hidden = 64, intermediate = 64, experts = 8, top_k = 2, experts = 16 }
--|                                                                   ^~~~~~~
--| hint: the first one is at 1:41
--| twice.lua:3:1: error: topology is described twice
--|   topology { gpu = "H100", gpus = 2 }
--|   ^~~~~~~~
--| hint: the first one is at twice.lua:2
