-- DeepSeek-V3 (DeepSeek).
-- Source: hidden_size, moe_intermediate_size, n_routed_experts, num_experts_per_tok and n_shared_experts of the
-- published config.json of DeepSeek-V3.
return preset {
  name = "deepseek-v3",
  hidden = 7168,
  intermediate = 2048,
  experts = 256,
  top_k = 8,
  shared_experts = 1,
}
