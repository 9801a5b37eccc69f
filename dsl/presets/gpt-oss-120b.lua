-- gpt-oss-120b (OpenAI).
-- Source: hidden_size, intermediate_size, num_local_experts and num_experts_per_tok of the published config.json. This is
-- the shape only: the biases and the scaled activation of that model are not part of the layer.
return preset {
  name = "gpt-oss-120b",
  hidden = 2880,
  intermediate = 2880,
  experts = 128,
  top_k = 4,
  shared_experts = 0,
}
