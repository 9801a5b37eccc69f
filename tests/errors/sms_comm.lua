model { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64 }
schedule { comm_sms = 132 }
--| sms_comm.lua:4:12: error: schedule.comm_sms is 132, which leaves none of 132 SMs to compute
--|   schedule { comm_sms = 132 }
--|              ^~~~~~~~
--| hint: together they may take at most 131
