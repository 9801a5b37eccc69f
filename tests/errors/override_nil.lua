-- option: -D model.hidden=nil
-- option: -D topology.gpus="4"
-- option: -D topology.gpu.base=nil
model { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64 }
--| -D model.hidden=nil:1:10: error: model.hidden is required, and is nil here
--|   -D model.hidden=nil
--|            ^~~~~~
--| -D topology.gpu.base=nil:1:13: error: topology.gpu has no base
--|   -D topology.gpu.base=nil
--|               ^~~~~~~~
--| hint: write { base = "H200", sms = 120 }
--| -D topology.gpus="4":1:13: error: topology.gpus must be an integer, not the string "4"
--|   -D topology.gpus="4"
--|               ^~~~
--| hint: write gpus = 4, without quotes
