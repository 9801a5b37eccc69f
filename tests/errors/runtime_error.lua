model { hidden = 64, intermediate = 63, experts = 8, top_k = 99 }
local size = nil
topology { gpu = "H200", gpus = size.gpus }
workload { tokens_per_gpu = "never reached" }
--| runtime_error.lua:1:22: error: model.intermediate is 63, which is no multiple of 8 (dtype bf16)
--|   model { hidden = 64, intermediate = 63, experts = 8, top_k = 99 }
--|                        ^~~~~~~~~~~~
--| hint: the nearest legal values are 56 and 64
--| runtime_error.lua:1:54: error: model.top_k is 99; legal: 1 to 64
--|   model { hidden = 64, intermediate = 63, experts = 8, top_k = 99 }
--|                                                        ^~~~~
--| runtime_error.lua:3:33: error: attempt to index a nil value (local 'size')
--|   topology { gpu = "H200", gpus = size.gpus }
--|                                   ^~~~
