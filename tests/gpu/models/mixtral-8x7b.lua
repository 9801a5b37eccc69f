-- One GPU's part of the experts, so that it fits one GPU.
model(require "mixtral-8x7b" { experts = 8 })
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 8192 }
