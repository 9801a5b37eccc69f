-- The main job: many experts, a shared one, two ranks.
local kimi = require "kimi-k2"
model(kimi { name = "kimi-2xh200" })
topology { gpu = "H200", gpus = 2 }
workload { tokens_per_gpu = 8192 }
