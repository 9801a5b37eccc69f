-- New here: a preset. `require` finds it in the binary; calling it with a table replaces keys.
--
--   mokgen explain examples/kimi-k2-2xh200.lua
--   mokgen examples/kimi-k2-2xh200.lua           writes kimi-k2-2xh200.mok/
local kimi = require "kimi-k2"

model(kimi {
  name = "kimi-k2-2xh200", -- names the package
})

topology {
  gpu = "H200",
  gpus = 2, -- expert-parallel ranks, each with 192 of the 384 experts
}

workload {
  tokens_per_gpu = 8192, -- capacity; each call may bring fewer, and each rank its own number
}
