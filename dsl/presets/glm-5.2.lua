-- GLM-5.2 (Zhipu AI).
-- Source: the shape that the Mixture-of-Kittens benchmarks list for GLM-5.2; one shared expert of the same width.
return preset {
  name = "glm-5.2",
  hidden = 6144,
  intermediate = 2048,
  experts = 256,
  top_k = 8,
  shared_experts = 1,
}
