model {
  hidden = 64, intermediate = 64, experts = 8, top_k = 2,
  ["topk"] = 2,
  gpus = 2,
  zzz = 1,
  Hidden = 1,
  bias = true,
}
topology { gpu = "H200", gpus = 1, GPU = 1, tokens_per_gpu = 1 }
workload { tokens_per_gpu = 64 }
--| unknown_keys.lua:3:4: error: unknown key 'topk' in model
--|     ["topk"] = 2,
--|      ^~~~~~
--| hint: did you mean 'top_k'?
--| unknown_keys.lua:4:3: error: unknown key 'gpus' in model
--|     gpus = 2,
--|     ^~~~
--| hint: 'gpus' is a field of topology
--| unknown_keys.lua:5:3: error: unknown key 'zzz' in model
--|     zzz = 1,
--|     ^~~
--| hint: known keys: name, hidden, intermediate, experts, top_k, shared_experts, shared_intermediate, activation, clamp, dtype
--| unknown_keys.lua:6:3: error: unknown key 'Hidden' in model
--|     Hidden = 1,
--|     ^~~~~~
--| hint: did you mean 'hidden'?
--| unknown_keys.lua:7:3: error: model.bias is reserved for a later version
--|     bias = true,
--|     ^~~~
--| hint: this version has no such field
--| unknown_keys.lua:9:36: error: unknown key 'GPU' in topology
--|   topology { gpu = "H200", gpus = 1, GPU = 1, tokens_per_gpu = 1 }
--|                                      ^~~
--| hint: did you mean 'gpu'?
--| unknown_keys.lua:9:45: error: unknown key 'tokens_per_gpu' in topology
--|   topology { gpu = "H200", gpus = 1, GPU = 1, tokens_per_gpu = 1 }
--|                                               ^~~~~~~~~~~~~~
--| hint: 'tokens_per_gpu' is a field of workload
