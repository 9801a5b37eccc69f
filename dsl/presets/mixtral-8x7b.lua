-- Mixtral 8x7B (Mistral AI).
-- Source: hidden_size, intermediate_size, num_local_experts and num_experts_per_tok of the published config.json; no
-- shared expert.
return preset {
  name = "mixtral-8x7b",
  hidden = 4096,
  intermediate = 14336,
  experts = 8,
  top_k = 2,
  shared_experts = 0,
}
