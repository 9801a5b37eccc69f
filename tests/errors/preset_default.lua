local mine = preset { name = "mine", hidden = 72, intermediate = 72, experts = 8, top_k = 2 }
model(mine { dtype = "mxfp8" })
topology { gpu = "H200", gpus = 2 }
workload { tokens_per_gpu = 8192 }
--| preset_default.lua:2:7: error: model.hidden is 72, which is no multiple of 32 (dtype mxfp8)
--|   model(mine { dtype = "mxfp8" })
--|         ^~~~
--| hint: the nearest legal values are 64 and 96
--| preset_default.lua:2:7: error: model.intermediate is 72, which is no multiple of 32 (dtype mxfp8)
--|   model(mine { dtype = "mxfp8" })
--|         ^~~~
--| hint: the nearest legal values are 64 and 96
