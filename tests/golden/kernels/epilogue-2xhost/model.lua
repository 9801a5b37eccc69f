-- The second placement on the host row: a clamp, two shared experts of a width of their own, a ring of one row block.
model { name = "epilogue-2xhost", hidden = 136, intermediate = 88, experts = 5, top_k = 3, shared_experts = 2, shared_intermediate = 200, clamp = 1.5 }
topology { gpu = "host", gpus = 2 }
workload { tokens_per_gpu = 64 }
schedule { comm = "epilogue", ring_rows = 64, minibatch_rows = 64, tile_m = 64 }
