-- One rank, so nothing on the wire and nothing to move; a clamp; columns that no power of two divides; no shared expert.
local oss = require "gpt-oss-120b"
model(oss { name = "gpt-oss-1xh100", clamp = 7.0 })
topology { gpu = "H100", gpus = 1 }
workload { tokens_per_gpu = 4096 }
