model {
  name = 7,
  hidden = "7168",
  intermediate = 2048 / 3,
  experts = 0 / 0,
  top_k = 1 / 0,
  shared_experts = true,
  shared_intermediate = {},
  clamp = "7.0",
  dtype = print == nil,
}
topology { gpu = 200, gpus = function() end }
workload { tokens_per_gpu = "many", passes = "backward", save = {}, imbalance = "2" }
schedule { comm_sms = "all", comm = 1, waves = "auto", tile_m = 63.5, wire_dedup = 1, stages = -1 / 0 }
--| types.lua:2:3: error: model.name must be a string, not 7
--|     name = 7,
--|     ^~~~
--| types.lua:3:3: error: model.hidden must be an integer, not the string "7168"
--|     hidden = "7168",
--|     ^~~~~~
--| hint: write hidden = 7168, without quotes
--| types.lua:4:3: error: model.intermediate must be an integer, not 682.66666666667
--|     intermediate = 2048 / 3,
--|     ^~~~~~~~~~~~
--| hint: a // b divides without a fraction; math.floor(a) and math.ceil(a) round
--| types.lua:5:3: error: model.experts must be an integer, not nan
--|     experts = 0 / 0,
--|     ^~~~~~~
--| types.lua:6:3: error: model.top_k is infinity; legal: 1 to 64
--|     top_k = 1 / 0,
--|     ^~~~~
--| types.lua:7:3: error: model.shared_experts must be an integer, not true
--|     shared_experts = true,
--|     ^~~~~~~~~~~~~~
--| types.lua:8:3: error: model.shared_intermediate must be an integer, not a table
--|     shared_intermediate = {},
--|     ^~~~~~~~~~~~~~~~~~~
--| types.lua:9:3: error: model.clamp must be a number, not the string "7.0"
--|     clamp = "7.0",
--|     ^~~~~
--| hint: write clamp = 7.0, without quotes
--| types.lua:10:3: error: model.dtype must be a word, not true
--|     dtype = print == nil,
--|     ^~~~~
--| hint: legal: "bf16", "fp8_block128", "mxfp8"
--| types.lua:10:11: error: unknown name 'print'
--|     dtype = print == nil,
--|             ^~~~~
--| hint: a description prints nothing: error(...) shows a value, --emit=model the result
--| types.lua:12:12: error: topology.gpu must be the name of a GPU, not 200
--|   topology { gpu = 200, gpus = function() end }
--|              ^~~
--| hint: legal: "H100", "H200", "H20", "B200", "GB200", "B300", "GB300", "host", "auto"
--| types.lua:12:23: error: topology.gpus must be an integer, not a function
--|   topology { gpu = 200, gpus = function() end }
--|                         ^~~~
--| types.lua:13:12: error: workload.tokens_per_gpu must be an integer, not the string "many"
--|   workload { tokens_per_gpu = "many", passes = "backward", save = {}, imbalance = "2" }
--|              ^~~~~~~~~~~~~~
--| types.lua:13:37: error: workload.passes must be a list of words, not the string "backward"
--|   workload { tokens_per_gpu = "many", passes = "backward", save = {}, imbalance = "2" }
--|                                       ^~~~~~
--| hint: write passes = { "backward" }
--| types.lua:13:58: error: workload.save must be a word, not a table
--|   workload { tokens_per_gpu = "many", passes = "backward", save = {}, imbalance = "2" }
--|                                                            ^~~~
--| hint: legal: "all", "input", "none"
--| types.lua:13:69: error: workload.imbalance must be a number, not the string "2"
--|   workload { tokens_per_gpu = "many", passes = "backward", save = {}, imbalance = "2" }
--|                                                                       ^~~~~~~~~
--| hint: write imbalance = 2, without quotes
--| types.lua:14:12: error: schedule.comm_sms must be an integer or "auto", not the string "all"
--|   schedule { comm_sms = "all", comm = 1, waves = "auto", tile_m = 63.5, wire_dedup = 1, stages = -1 / ...
--|              ^~~~~~~~
--| types.lua:14:30: error: schedule.comm must be a word, not 1
--|   schedule { comm_sms = "all", comm = 1, waves = "auto", tile_m = 63.5, wire_dedup = 1, stages = -1 / ...
--|                                ^~~~
--| hint: legal: "auto", "sms", "warps", "epilogue"
--| types.lua:14:40: error: schedule.waves must be an integer, not the string "auto"
--|   schedule { comm_sms = "all", comm = 1, waves = "auto", tile_m = 63.5, wire_dedup = 1, stages = -1 / ...
--|                                          ^~~~~
--| types.lua:14:56: error: schedule.tile_m must be an integer or "auto", not 63.5
--|   ..._sms = "all", comm = 1, waves = "auto", tile_m = 63.5, wire_dedup = 1, stages = -1 / 0 }
--|                                              ^~~~~~
--| hint: a // b divides without a fraction; math.floor(a) and math.ceil(a) round
--| types.lua:14:71: error: schedule.wire_dedup must be a word, not 1
--|   ...omm = 1, waves = "auto", tile_m = 63.5, wire_dedup = 1, stages = -1 / 0 }
--|                                              ^~~~~~~~~~
--| hint: legal: "auto", "off", "on"
--| types.lua:14:87: error: schedule.stages is minus infinity; legal: 2 to 12
--|   ... "auto", tile_m = 63.5, wire_dedup = 1, stages = -1 / 0 }
--|                                              ^~~~~~
