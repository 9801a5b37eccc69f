-- A layer small enough to run on any CPU in a second:
--
--   mokgen run examples/small.lua --target host
--
-- Every required key is here; all others have defaults.
model {
  hidden = 128,
  intermediate = 64,
  experts = 8,
  top_k = 2,
  shared_experts = 1,
}

topology {
  gpu = "host",
  gpus = 1,
}

workload {
  tokens_per_gpu = 64,
}
