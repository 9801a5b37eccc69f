-- One token on one rank: nothing to hide, nothing to share out, the smallest tables there are.
local qwen = require "qwen3-30b"
model(qwen { name = "one-token-1xh200" })
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 1 }
