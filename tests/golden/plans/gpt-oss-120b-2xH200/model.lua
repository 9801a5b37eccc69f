local layer = require "gpt-oss-120b"
model(layer {})
topology { gpu = "H200", gpus = 2 }
workload { tokens_per_gpu = 8192 }
