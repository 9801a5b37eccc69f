model { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64 }
schedule { tile_m = 192, tile_n = 100, tile_k = 24, minibatch_rows = 1024, ring_rows = 1536 }
--| tiles.lua:4:12: error: schedule.tile_m is 192, which is no tile height
--|   schedule { tile_m = 192, tile_n = 100, tile_k = 24, minibatch_rows = 1024, ring_rows = 1536 }
--|              ^~~~~~
--| hint: 64, 128 or 256, or "auto"
--| tiles.lua:4:26: error: schedule.tile_n is 100, which is no multiple of 16
--|   schedule { tile_m = 192, tile_n = 100, tile_k = 24, minibatch_rows = 1024, ring_rows = 1536 }
--|                            ^~~~~~
--| hint: 16, 32, ... 256, or "auto"
--| tiles.lua:4:40: error: schedule.tile_k is 24, which is no multiple of 16
--|   schedule { tile_m = 192, tile_n = 100, tile_k = 24, minibatch_rows = 1024, ring_rows = 1536 }
--|                                          ^~~~~~
--| hint: 16, 32, ... 256, or "auto"
--| tiles.lua:4:76: error: schedule.ring_rows is 1536, which is no multiple of minibatch_rows (1024)
--|   schedule { tile_m = 192, tile_n = 100, tile_k = 24, minibatch_rows = 1024, ring_rows = 1536 }
--|                                                                              ^~~~~~~~~
--| hint: for example ring_rows = 2048, 2 minibatches
