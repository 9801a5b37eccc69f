-- Every dimension small and easy to change; the cases of tests/gpu/cases.txt set what they test.
model { hidden = 256, intermediate = 128, experts = 8, top_k = 2, shared_experts = 1 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 256 }
