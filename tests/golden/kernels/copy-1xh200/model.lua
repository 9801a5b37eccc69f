-- One rank that copies its rows all the same, as every rank does with those of others; in pairs, in rounds, in both directions.
local kimi = require "kimi-k2"
model(kimi { name = "copy-1xh200", experts = 16 })
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 2048 }
schedule { own_rows = "copy", comm = "sms" }
