-- Fewer experts than ranks; 2880 columns in tiles of 240; geglu; two shared experts.
model { name = "few-experts-4xh100", hidden = 2880, intermediate = 2880, experts = 3, top_k = 2, shared_experts = 2, activation = "geglu" }
topology { gpu = "H100", gpus = 4 }
workload { tokens_per_gpu = 1024 }
schedule { tile_n = 240 }
