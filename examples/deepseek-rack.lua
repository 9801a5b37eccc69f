-- New here: planning ahead. A rack of 72 GPUs, training, FP8: `explain` plans it although this version builds the BF16 forward pass
-- only; `build` says so and ends with 3.
--
--   mokgen explain examples/deepseek-rack.lua
local deepseek = require "deepseek-v3"

model(deepseek {
  name = "deepseek-rack",
  dtype = "fp8_block128",
})

topology {
  gpu = "GB200",
  gpus = 72, -- 256 experts over 72 ranks: three or four each
}

workload {
  tokens_per_gpu = 8192,
  passes = { "forward", "backward" },
  save = "input", -- backward recomputes the rest
  imbalance = 1.5,
}
