model { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }
topology { gpu = { base = "H200", sms = 20 }, gpus = 1 }
workload { tokens_per_gpu = 64 }
schedule { comm_sms = 12, reserved_sms = 8 }
--| sms.lua:4:27: error: schedule.comm_sms (12) and reserved_sms (8) leave none of 20 SMs to compute
--|   schedule { comm_sms = 12, reserved_sms = 8 }
--|                             ^~~~~~~~~~~~
--| hint: together they may take at most 19
