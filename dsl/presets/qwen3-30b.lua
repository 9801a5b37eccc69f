-- Qwen3-30B-A3B (Alibaba).
-- Source: hidden_size, moe_intermediate_size, num_experts and num_experts_per_tok of the published config.json; no
-- shared expert.
return preset {
  name = "qwen3-30b",
  hidden = 2048,
  intermediate = 768,
  experts = 128,
  top_k = 8,
  shared_experts = 0,
}
