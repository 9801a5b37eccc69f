-- The same kind of layer, planned for a GPU.
model { hidden = 256, intermediate = 128, experts = 8, top_k = 2 }
topology { gpu = "H200", gpus = 2 }
workload { tokens_per_gpu = 128 }
schedule { comm = "sms", cluster = 1 }
