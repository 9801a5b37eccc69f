model(require "kimi-k2"(16))
topology { gpu = "H200", gpus = 2 }
workload { tokens_per_gpu = 8192 }
--| preset_argument.lua:1: error: a preset takes one table of overrides, not a number
--|   model(require "kimi-k2"(16))
--| hint: write kimi { experts = 16 }, or kimi() for the preset as it is
