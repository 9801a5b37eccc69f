model { name = "kimi/k2", hidden = 64, intermediate = 64, experts = 8, top_k = 2 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64 }
--| name.lua:1:9: error: model.name "kimi/k2" is not a legal name
--|   model { name = "kimi/k2", hidden = 64, intermediate = 64, experts = 8, top_k = 2 }
--|           ^~~~
--| hint: letters, digits, '.', '_' and '-'; 1 to 64 of them
