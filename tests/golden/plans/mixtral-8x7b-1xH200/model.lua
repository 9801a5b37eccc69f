local layer = require "mixtral-8x7b"
model(layer {})
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 8192 }
