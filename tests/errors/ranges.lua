model {
  hidden = 0,
  intermediate = 65544,
  experts = 4097,
  top_k = 0,
  shared_experts = -1,
  shared_intermediate = 1 << 40,
  clamp = -0.5,
}
topology { gpu = { base = "H200", sms = 1 }, gpus = 73 }
workload { tokens_per_gpu = 65537, imbalance = 0.99 }
schedule { comm_sms = 513, minibatch_rows = 15, ring_rows = 1e9, waves = 0, tile_m = 32, tile_n = 8, tile_k = 512, stages = 13,
           cluster = 4, reserved_sms = -1 }
--| ranges.lua:2:3: error: model.hidden is 0; legal: 8 to 65536
--|     hidden = 0,
--|     ^~~~~~
--| ranges.lua:3:3: error: model.intermediate is 65544; legal: 8 to 65536
--|     intermediate = 65544,
--|     ^~~~~~~~~~~~
--| ranges.lua:4:3: error: model.experts is 4097; legal: 1 to 4096
--|     experts = 4097,
--|     ^~~~~~~
--| ranges.lua:5:3: error: model.top_k is 0; legal: 1 to 64
--|     top_k = 0,
--|     ^~~~~
--| ranges.lua:6:3: error: model.shared_experts is -1; legal: 0 to 64
--|     shared_experts = -1,
--|     ^~~~~~~~~~~~~~
--| ranges.lua:7:3: error: model.shared_intermediate is 1099511627776; legal: 0 to 4194304
--|     shared_intermediate = 1 << 40,
--|     ^~~~~~~~~~~~~~~~~~~
--| ranges.lua:8:3: error: model.clamp is -0.5; legal: 0 to 1e+30
--|     clamp = -0.5,
--|     ^~~~~
--| ranges.lua:10:35: error: topology.gpu.sms is 1; legal: 2 to 1024
--|   topology { gpu = { base = "H200", sms = 1 }, gpus = 73 }
--|                                     ^~~
--| ranges.lua:10:46: error: topology.gpus is 73; legal: 1 to 72
--|   topology { gpu = { base = "H200", sms = 1 }, gpus = 73 }
--|                                                ^~~~
--| ranges.lua:11:12: error: workload.tokens_per_gpu is 65537; legal: 0 to 65536
--|   workload { tokens_per_gpu = 65537, imbalance = 0.99 }
--|              ^~~~~~~~~~~~~~
--| ranges.lua:11:36: error: workload.imbalance is 0.99; legal: 1 to 72
--|   workload { tokens_per_gpu = 65537, imbalance = 0.99 }
--|                                      ^~~~~~~~~
--| ranges.lua:12:12: error: schedule.comm_sms is 513; legal: 0 to 512
--|   schedule { comm_sms = 513, minibatch_rows = 15, ring_rows = 1e9, waves = 0, tile_m = 32, tile_n = 8,...
--|              ^~~~~~~~
--| ranges.lua:12:28: error: schedule.minibatch_rows is 15; legal: 16 to 16777216
--|   schedule { comm_sms = 513, minibatch_rows = 15, ring_rows = 1e9, waves = 0, tile_m = 32, tile_n = 8,...
--|                              ^~~~~~~~~~~~~~
--| ranges.lua:12:49: error: schedule.ring_rows is 1000000000; legal: 16 to 16777216
--|   ... { comm_sms = 513, minibatch_rows = 15, ring_rows = 1e9, waves = 0, tile_m = 32, tile_n = 8, tile_k ...
--|                                              ^~~~~~~~~
--| ranges.lua:12:66: error: schedule.waves is 0; legal: 1 to 64
--|   ..., minibatch_rows = 15, ring_rows = 1e9, waves = 0, tile_m = 32, tile_n = 8, tile_k = 512, stages = 1...
--|                                              ^~~~~
--| ranges.lua:12:77: error: schedule.tile_m is 32; legal: 64 to 256
--|   ..._rows = 15, ring_rows = 1e9, waves = 0, tile_m = 32, tile_n = 8, tile_k = 512, stages = 13,
--|                                              ^~~~~~
--| ranges.lua:12:90: error: schedule.tile_n is 8; legal: 16 to 256
--|   ...ing_rows = 1e9, waves = 0, tile_m = 32, tile_n = 8, tile_k = 512, stages = 13,
--|                                              ^~~~~~
--| ranges.lua:12:102: error: schedule.tile_k is 512; legal: 16 to 256
--|   ...e9, waves = 0, tile_m = 32, tile_n = 8, tile_k = 512, stages = 13,
--|                                              ^~~~~~
--| ranges.lua:12:116: error: schedule.stages is 13; legal: 2 to 12
--|   ... tile_m = 32, tile_n = 8, tile_k = 512, stages = 13,
--|                                              ^~~~~~
--| ranges.lua:13:12: error: schedule.cluster is 4; legal: 1 to 2
--|              cluster = 4, reserved_sms = -1 }
--|              ^~~~~~~
--| ranges.lua:13:25: error: schedule.reserved_sms is -1; legal: 0 to 512
--|              cluster = 4, reserved_sms = -1 }
--|                           ^~~~~~~~~~~~
