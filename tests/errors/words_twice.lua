model { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64, passes = { "forward", "backward", "forward" } }
--| words_twice.lua:3:67: error: workload.passes names 'forward' twice
--|   workload { tokens_per_gpu = 64, passes = { "forward", "backward", "forward" } }
--|                                                                     ^~~~~~~~~
--| hint: each word once
