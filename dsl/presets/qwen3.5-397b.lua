-- Qwen3.5-397B-A17B (Alibaba).
-- Source: the shape that the Mixture-of-Kittens benchmarks list; one shared expert of width 1024. The sigmoid gate on
-- the shared expert's output is outside the layer.
return preset {
  name = "qwen3.5-397b",
  hidden = 4096,
  intermediate = 1024,
  experts = 512,
  top_k = 10,
  shared_experts = 1,
}
