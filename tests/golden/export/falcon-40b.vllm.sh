# vllm: arguments of vllm serve (vLLM 0.8.5)
# scenario: falcon-40b-384xa100
vllm serve tiiuae/falcon-40b \
  --tensor-parallel-size 8 \
  --pipeline-parallel-size 4 \
  --dtype bfloat16
# not represented: workload.sequence_length = 2048; workload.global_batch = 1152; strategy.dp = 12; strategy.zero_stage = 1; cluster
