-- Two ranks that move each other's rows and leave their own in place, and rings of several laps. No shared expert: waiting for it
-- would order what rows rest on.
model {
  name = "ranks", hidden = 256, intermediate = 128, experts = 8, top_k = 2,
  clamp = 7.0,
}
topology { gpu = "H200", gpus = 2 }
workload { tokens_per_gpu = 256 }
schedule { tile_m = 64, minibatch_rows = 128, ring_rows = 256, own_rows = "direct" }
