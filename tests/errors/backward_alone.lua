model { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64, passes = { "backward" } }
--| backward_alone.lua:3:33: error: workload.passes has no "forward", which backward needs
--|   workload { tokens_per_gpu = 64, passes = { "backward" } }
--|                                   ^~~~~~
--| hint: passes = { "forward", "backward" }
