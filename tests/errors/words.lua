model { hidden = 64, intermediate = 64, experts = 8, top_k = 2, dtype = "BF16" }
topology { gpu = "h200", gpus = 1 }
workload { tokens_per_gpu = 64, passes = { "forwards" }, save = "al" }
schedule { comm = "sm", readiness = "tiles", wire_dedup = "yes" }
--| words.lua:1:65: error: model.dtype is "BF16", which is no known word
--|   model { hidden = 64, intermediate = 64, experts = 8, top_k = 2, dtype = "BF16" }
--|                                                                   ^~~~~
--| hint: did you mean "bf16"? legal: "bf16", "fp8_block128", "mxfp8"
--| words.lua:2:12: error: topology.gpu is "h200", which is no row of the GPU table
--|   topology { gpu = "h200", gpus = 1 }
--|              ^~~
--| hint: did you mean "H200"? legal: "H100", "H200", "H20", "B200", "GB200", "B300", "GB300", "host", "auto"
--| words.lua:3:44: error: workload.passes[1] is "forwards", which is no known word
--|   workload { tokens_per_gpu = 64, passes = { "forwards" }, save = "al" }
--|                                              ^~~~~~~~~~
--| hint: did you mean "forward"? legal: "forward", "backward"
--| words.lua:3:58: error: workload.save is "al", which is no known word
--|   workload { tokens_per_gpu = 64, passes = { "forwards" }, save = "al" }
--|                                                            ^~~~
--| hint: did you mean "all"? legal: "all", "input", "none"
--| words.lua:4:12: error: schedule.comm is "sm", which is no known word
--|   schedule { comm = "sm", readiness = "tiles", wire_dedup = "yes" }
--|              ^~~~
--| hint: did you mean "sms"? legal: "auto", "sms", "warps", "epilogue"
--| words.lua:4:25: error: schedule.readiness is "tiles", which is no known word
--|   schedule { comm = "sm", readiness = "tiles", wire_dedup = "yes" }
--|                           ^~~~~~~~~
--| hint: did you mean "tile"? legal: "auto", "tile", "minibatch"
--| words.lua:4:46: error: schedule.wire_dedup is "yes", which is no known word
--|   schedule { comm = "sm", readiness = "tiles", wire_dedup = "yes" }
--|                                                ^~~~~~~~~~
--| hint: legal: "auto", "off", "on"
