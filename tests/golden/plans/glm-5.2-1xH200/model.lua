local layer = require "glm-5.2"
model(layer {})
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 8192 }
