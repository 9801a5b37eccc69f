local layer = require "qwen3.5-397b"
model(layer {})
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 8192 }
