local layer = require "qwen3-30b"
model(layer {})
topology { gpu = "GB300", gpus = 64 }
workload { tokens_per_gpu = 8192 }
