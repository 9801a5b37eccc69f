local layer = require "qwen3.5-397b"
model(layer {})
topology { gpu = "GB300", gpus = 64 }
workload { tokens_per_gpu = 8192 }
