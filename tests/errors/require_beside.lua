require "beside_mistakes"
model { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }
workload { tokens_per_gpu = 64 }
--| beside_mistakes.lua:1:1: error: topology lacks gpus
--|   topology {
--|   ^~~~~~~~
--| beside_mistakes.lua:3:3: error: unknown key 'gpu_count' in topology
--|     gpu_count = 2,
--|     ^~~~~~~~~
--| hint: known keys: gpu, gpus
