-- The second placement: the epilogue of the down product pushes rows to their ranks; a ring of several laps; experts that 4 does not divide.
model { name = "epilogue-4xh200", hidden = 4096, intermediate = 1536, experts = 30, top_k = 4, shared_experts = 1 }
topology { gpu = "H200", gpus = 4 }
workload { tokens_per_gpu = 2048 }
schedule { comm = "epilogue", ring_rows = 4096 }
