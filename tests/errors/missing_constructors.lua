schedule { waves = 2 }
--| missing_constructors.lua: error: there is no model { ... }
--| hint: it must give hidden, intermediate, experts, top_k
--| missing_constructors.lua: error: there is no topology { ... }
--| hint: it must give gpu, gpus
--| missing_constructors.lua: error: there is no workload { ... }
--| hint: it must give tokens_per_gpu
