-- No gate, one route, fewer experts than ranks, the host row: what a kernel has when all that is optional is absent.
model { name = "relu2-4xhost", hidden = 72, intermediate = 200, experts = 3, top_k = 1, activation = "relu2" }
topology { gpu = "host", gpus = 4 }
workload { tokens_per_gpu = 100 }
