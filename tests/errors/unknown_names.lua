modle { hidden = 64, intermediate = width, experts = 8, top_k = 2, }
topology { gpu = H200, gpus = gpus }
workload { tokens_per_gpu = os.getenv("T") }
--| unknown_names.lua:1:1: error: unknown name 'modle'
--|   modle { hidden = 64, intermediate = width, experts = 8, top_k = 2, }
--|   ^~~~~
--| hint: did you mean 'model'?
--| unknown_names.lua:1:37: error: unknown name 'width'
--|   modle { hidden = 64, intermediate = width, experts = 8, top_k = 2, }
--|                                       ^~~~~
--| unknown_names.lua:2:18: error: unknown name 'H200'
--|   topology { gpu = H200, gpus = gpus }
--|                    ^~~~
--| hint: write "H200", with quotes
--| unknown_names.lua:2:31: error: unknown name 'gpus'
--|   topology { gpu = H200, gpus = gpus }
--|                                 ^~~~
--| unknown_names.lua:3:29: error: unknown name 'os'
--|   workload { tokens_per_gpu = os.getenv("T") }
--|                               ^~
--| hint: a description has no files, processes or environment
