local gpt = require "gpt-oss-120b"
model(gpt { shared_intermediate = 0, shared_experts = 1 })
topology { gpu = "H200", gpus = 2 }
workload { tokens_per_gpu = 8192 }
--| preset_value.lua:2:13: error: model.shared_intermediate is 0, but model.shared_experts is 1
--|   model(gpt { shared_intermediate = 0, shared_experts = 1 })
--|               ^~~~~~~~~~~~~~~~~~~
--| hint: drop shared_intermediate: the default is shared_experts * intermediate
