model { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }
topology { gpus = 1, gpu = {
  bas = "H200",
  sms = "120",
  clock = 3,
  "H200",
} }
workload { tokens_per_gpu = 64 }
--| gpu_table.lua:3:3: error: unknown key 'bas' in topology.gpu
--|     bas = "H200",
--|     ^~~
--| hint: did you mean 'base'?
--| gpu_table.lua:4:3: error: topology.gpu.sms must be an integer, not the string "120"
--|     sms = "120",
--|     ^~~
--| hint: write sms = 120, without quotes
--| gpu_table.lua:5:3: error: unknown key 'clock' in topology.gpu
--|     clock = 3,
--|     ^~~~~
--| hint: write { base = "H200", sms = 120 }
--| gpu_table.lua:6:3: error: unknown key '[1]' in topology.gpu
--|     "H200",
--|     ^~~~~~
--| hint: write { base = "H200", sms = 120 }
