local layer = require "deepseek-v4-pro"
model(layer {})
topology { gpu = "GB300", gpus = 64 }
workload { tokens_per_gpu = 8192 }
