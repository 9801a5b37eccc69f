local t = {}
for i = 1, 1000 do t = { t, t } end
workload { passes = t, tokens_per_gpu = t }
topology { gpu = t, gpus = t }
--| nested_lists.lua: error: there is no model { ... }
--| hint: it must give hidden, intermediate, experts, top_k
--| nested_lists.lua:3:12: error: workload.passes[1] must be a word, not a table
--|   workload { passes = t, tokens_per_gpu = t }
--|              ^~~~~~
--| hint: legal: "forward", "backward"
--| nested_lists.lua:3:12: error: workload.passes[2] must be a word, not a table
--|   workload { passes = t, tokens_per_gpu = t }
--|              ^~~~~~
--| hint: legal: "forward", "backward"
--| nested_lists.lua:3:24: error: workload.tokens_per_gpu must be an integer, not a table
--|   workload { passes = t, tokens_per_gpu = t }
--|                          ^~~~~~~~~~~~~~
--| nested_lists.lua:4:12: error: unknown key '[1]' in topology.gpu
--|   topology { gpu = t, gpus = t }
--|              ^~~
--| hint: write { base = "H200", sms = 120 }
--| nested_lists.lua:4:12: error: unknown key '[2]' in topology.gpu
--|   topology { gpu = t, gpus = t }
--|              ^~~
--| hint: write { base = "H200", sms = 120 }
--| nested_lists.lua:4:12: error: topology.gpu has no base
--|   topology { gpu = t, gpus = t }
--|              ^~~
--| hint: write { base = "H200", sms = 120 }
--| nested_lists.lua:4:21: error: topology.gpus must be an integer, not a table
--|   topology { gpu = t, gpus = t }
--|                       ^~~~
