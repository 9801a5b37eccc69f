local t = {}
model(t)
topology {}
  workload { save = "all" }
--| missing_fields.lua:2:1: error: model lacks hidden, intermediate, experts, top_k
--|   model(t)
--|   ^~~~~
--| missing_fields.lua:3:1: error: topology lacks gpu, gpus
--|   topology {}
--|   ^~~~~~~~
--| missing_fields.lua:4:3: error: workload lacks tokens_per_gpu
--|     workload { save = "all" }
--|     ^~~~~~~~
