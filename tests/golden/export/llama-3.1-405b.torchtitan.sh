#!/usr/bin/env bash
# torchtitan: job configuration of torchtitan (at commit 6404b932)
# scenario: llama-3.1-405b-16384xh100
set -euo pipefail
CONFIG=$PWD/train.toml
cat >"$CONFIG" <<'END'
[model]
name = "llama3"
flavor = "405B"

[training]
seq_len = 8192
global_batch_size = 2048
local_batch_size = 16
mixed_precision_param = "bfloat16"
mixed_precision_reduce = "float32"
max_norm = 1.0
compile = true

[parallelism]
tensor_parallel_degree = 8
context_parallel_degree = 1
pipeline_parallel_degree = 16
pipeline_parallel_microbatch_size = 1
pipeline_parallel_schedule = "Interleaved1F1B"
pipeline_parallel_layers_per_stage = 1
pipeline_parallel_first_stage_less_layers = 1
pipeline_parallel_last_stage_less_layers = 1

[activation_checkpoint]
mode = "none"
END
torchrun --nnodes 2048 --nproc_per_node 8 \
  --rdzv_backend c10d --rdzv_endpoint "${MASTER_ADDR}:${MASTER_PORT:-29500}" \
  -m torchtitan.train --job.config_file "$CONFIG"
# not represented: strategy.fsdp = 128; strategy.zero_stage = 2; cluster.node; cluster.device; cluster.fabric
