-- DeepSeek-V4-Pro (DeepSeek).
-- Source: the shape that the Mixture-of-Kittens benchmarks list; one shared expert of the same width.
return preset {
  name = "deepseek-v4-pro",
  hidden = 7168,
  intermediate = 3072,
  experts = 384,
  top_k = 6,
  shared_experts = 1,
}
