local layer = require "glm-5.2"
model(layer {})
topology { gpu = "GB300", gpus = 64 }
workload { tokens_per_gpu = 8192 }
