-- Many small experts on eight ranks; a clamp; a ring that a crowded rank goes round many times.
model { name = "experts-8xh200", hidden = 3072, intermediate = 512, experts = 500, top_k = 10, clamp = 7.0 }
topology { gpu = "H200", gpus = 8 }
workload { tokens_per_gpu = 4096 }
schedule { ring_rows = 2048, minibatch_rows = 512 }
