-- One GPU's part of the experts, so that it fits one GPU.
model(require "qwen3-30b" { experts = 128 })
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 8192 }
