-- CTAs in pairs, and up tiles a minibatch ahead of down tiles: rings of three minibatches, two laps.
model {
  name = "pairs", hidden = 256, intermediate = 128, experts = 8, top_k = 2,
  clamp = 7.0,
}
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 480 }
schedule { own_rows = "direct", cluster = 2, tile_m = 64, tile_n = 32, minibatch_rows = 256, ring_rows = 768 }
