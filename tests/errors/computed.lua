local shape = { hidden = 64, intermediate = 60 }
shape.experts = 0
shape.topk = 2
model(shape)
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64 }
--| computed.lua:4:1: error: unknown key 'topk' in model
--|   model(shape)
--|   ^~~~~
--| hint: did you mean 'top_k'?
--| computed.lua:4:1: error: model.experts is 0; legal: 1 to 4096
--|   model(shape)
--|   ^~~~~
--| computed.lua:4:1: error: model.intermediate is 60, which is no multiple of 8 (dtype bf16)
--|   model(shape)
--|   ^~~~~
--| hint: the nearest legal values are 56 and 64
