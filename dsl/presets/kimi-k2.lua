-- Kimi K2 (Moonshot AI).
-- Source: hidden_size, moe_intermediate_size, n_routed_experts, num_experts_per_tok and n_shared_experts of the
-- published config.json of Kimi-K2-Instruct.
return preset {
  name = "kimi-k2",
  hidden = 7168,
  intermediate = 2048,
  experts = 384,
  top_k = 8,
  shared_experts = 1,
}
