-- A layer small enough for a test, planned for the host row: 8 small SMs. It moves its rows: cases break what waits for them.
model { hidden = 64, intermediate = 64, experts = 4, top_k = 2, shared_experts = 1 }
topology { gpu = "host", gpus = 1 }
workload { tokens_per_gpu = 40 }
schedule { own_rows = "copy", comm = "sms", tile_n = 16 }
