-- The layer whose kernel stands in this folder: small, but with all that a forward kernel can have, and rings of several laps.
model {
  name = "sample", hidden = 256, intermediate = 128, experts = 8, top_k = 2,
  shared_experts = 1,
  clamp = 7.0,
}
topology { gpu = "H200", gpus = 2 }
workload { tokens_per_gpu = 256 }
schedule { comm = "sms", cluster = 1, own_rows = "copy", tile_m = 128, tile_n = 16, minibatch_rows = 256, ring_rows = 512 }
