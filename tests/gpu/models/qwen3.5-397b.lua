-- One GPU's part of the experts, so that it fits one GPU.
model(require "qwen3.5-397b" { experts = 32 })
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 8192 }
