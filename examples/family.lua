-- New here: a description is a program. One file describes a family of layers; the file's own function picks the sizes.
--
--   mokgen explain examples/family.lua
--   mokgen explain examples/family.lua -D topology.gpus=8
local function multiple_of(step, value)
  return (value + step - 1) // step * step -- `//` keeps integers whole; `/` makes fractions
end

local hidden = 4096
local active_experts = 6
local dense_intermediate = 8 * hidden // 3 -- what a dense layer of this width would have

model {
  name = "family-" .. hidden,
  hidden = hidden,
  -- The active experts together cost as much as the dense layer.
  intermediate = multiple_of(64, dense_intermediate // active_experts),
  experts = 96,
  top_k = active_experts,
  clamp = 7.0, -- limit of gate and up before the activation
}

topology { gpu = "H20", gpus = 4 }

workload { tokens_per_gpu = 2048 }
