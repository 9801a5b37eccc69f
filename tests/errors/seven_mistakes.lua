model {
  name = "seven",
  hiden = 7168,
  intermediate = 2048.5,
  experts = "384",
  top_k = 65,
  dtype = "fp8",
}
topology {
  gpu = "H2000",
  gpus = 2,
}
workload {
  tokens_per_gpu = 8192,
  passes = { "forward", "bakward" },
}
--| seven_mistakes.lua:3:3: error: unknown key 'hiden' in model
--|     hiden = 7168,
--|     ^~~~~
--| hint: did you mean 'hidden'?
--| seven_mistakes.lua:4:3: error: model.intermediate must be an integer, not 2048.5
--|     intermediate = 2048.5,
--|     ^~~~~~~~~~~~
--| hint: a // b divides without a fraction; math.floor(a) and math.ceil(a) round
--| seven_mistakes.lua:5:3: error: model.experts must be an integer, not the string "384"
--|     experts = "384",
--|     ^~~~~~~
--| hint: write experts = 384, without quotes
--| seven_mistakes.lua:6:3: error: model.top_k is 65; legal: 1 to 64
--|     top_k = 65,
--|     ^~~~~
--| seven_mistakes.lua:7:3: error: model.dtype is "fp8", which is no known word
--|     dtype = "fp8",
--|     ^~~~~
--| hint: did you mean "fp8_block128"? legal: "bf16", "fp8_block128", "mxfp8"
--| seven_mistakes.lua:10:3: error: topology.gpu is "H2000", which is no row of the GPU table
--|     gpu = "H2000",
--|     ^~~
--| hint: did you mean "H200"? legal: "H100", "H200", "H20", "B200", "GB200", "B300", "GB300", "host", "auto"
--| seven_mistakes.lua:15:25: error: workload.passes[2] is "bakward", which is no known word
--|     passes = { "forward", "bakward" },
--|                           ^~~~~~~~~
--| hint: did you mean "backward"? legal: "forward", "backward"
