model { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 64, passes = {
  "forward",
  3,
  x = "backward",
  { "backward" },
} }
--| lists.lua:5:3: error: workload.passes[2] must be a word, not 3
--|     3,
--|     ^
--| hint: legal: "forward", "backward"
--| lists.lua:6:3: error: workload.passes is a list: 'x' has no place in it
--|     x = "backward",
--|     ^
--| hint: legal: "forward", "backward"
--| lists.lua:7:3: error: workload.passes[3] must be a word, not a table
--|     { "backward" },
--|     ^
--| hint: legal: "forward", "backward"
