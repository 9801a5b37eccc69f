local width
model { hidden = width, intermediate = 64, experts = 8, top_k = 2, clamp = nil }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64 }
--| nil_required.lua:2:9: error: model.hidden is required, and is nil here
--|   model { hidden = width, intermediate = 64, experts = 8, top_k = 2, clamp = nil }
--|           ^~~~~~
