-- Few tokens: less than a wave, small tiles; geglu; two shared experts.
model { name = "decode-8xh20", hidden = 2048, intermediate = 1408, experts = 64, top_k = 6, shared_experts = 2, activation = "geglu" }
topology { gpu = "H20", gpus = 8 }
workload { tokens_per_gpu = 16 }
