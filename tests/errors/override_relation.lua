-- option: -D model.dtype=mxfp8
-- option: -D model.intermediate=40
model { hidden = 72, intermediate = 64, experts = 8, top_k = 2 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64 }
--| -D model.intermediate=40:1:10: error: model.intermediate is 40, which is no multiple of 32 (dtype mxfp8)
--|   -D model.intermediate=40
--|            ^~~~~~~~~~~~
--| hint: the nearest legal values are 32 and 64
--| override_relation.lua:3:9: error: model.hidden is 72, which is no multiple of 32 (dtype mxfp8)
--|   model { hidden = 72, intermediate = 64, experts = 8, top_k = 2 }
--|           ^~~~~~
--| hint: the nearest legal values are 64 and 96
