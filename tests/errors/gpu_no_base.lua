model { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }
topology { gpus = 1, gpu = { sms = 120 } }
workload { tokens_per_gpu = 64 }
--| gpu_no_base.lua:2:22: error: topology.gpu has no base
--|   topology { gpus = 1, gpu = { sms = 120 } }
--|                        ^~~
--| hint: write { base = "H200", sms = 120 }
