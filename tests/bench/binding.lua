-- For test_binding.py.
model { hidden = 64, intermediate = 32, experts = 4, top_k = 2, shared_experts = 1 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 48 }
