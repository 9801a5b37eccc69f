-- New here: the schedule. Every key of it is "auto" unless a value is given; `mokgen explain` shows what was chosen and why.
--
--   mokgen explain examples/mixtral-8xh100.lua
--   mokgen explain examples/mixtral-8xh100.lua -D schedule.waves=4     the same with one key replaced
local mixtral = require "mixtral-8x7b"

model(mixtral {})

topology {
  gpu = { base = "H100", sms = 120 }, -- a GPU row with a fact replaced: 12 SMs are someone else's
  gpus = 8,
}

workload {
  tokens_per_gpu = 4096,
}

schedule {
  waves = 3,
  reserved_sms = 4, -- left free for other kernels
}
