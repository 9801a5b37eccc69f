-- One GPU's part of the experts, so that it fits one GPU.
model(require "kimi-k2" { experts = 16 })
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 8192 }
