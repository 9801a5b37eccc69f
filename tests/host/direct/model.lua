-- One rank that moves no rows, and a ring of h of several laps. No shared expert: waiting for it would order what rows rest on.
model {
  name = "direct", hidden = 256, intermediate = 128, experts = 8, top_k = 2,
  clamp = 7.0,
}
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 256 }
schedule { own_rows = "direct", cluster = 1, tile_m = 64, tile_n = 32, minibatch_rows = 128, ring_rows = 256 }
