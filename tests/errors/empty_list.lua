model { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64, passes = {} }
--| empty_list.lua:3:33: error: workload.passes is empty
--|   workload { tokens_per_gpu = 64, passes = {} }
--|                                   ^~~~~~
--| hint: legal: "forward", "backward"
