#!/usr/bin/env bash
# megatron-core: arguments of Megatron-LM's pretrain_gpt.py (at commit 000c4ac2)
# scenario: megatron-22b-8xa100
set -euo pipefail
ARGUMENTS=(
  --num-layers 48
  --hidden-size 6144
  --num-attention-heads 64
  --ffn-hidden-size 24576
  --kv-channels 96
  --max-position-embeddings 2048
  --tokenizer-type NullTokenizer
  --vocab-size 51199
  --padded-vocab-size 51200
  --normalization LayerNorm
  --position-embedding-type learned_absolute
  --attention-dropout 0.1
  --hidden-dropout 0.1
  --seq-length 2048
  --global-batch-size 4
  --micro-batch-size 4
  --fp16
  --accumulate-allreduce-grads-in-fp32
  --attention-backend unfused
  --cross-entropy-loss-fusion
  --clip-grad 1.0
  --tensor-model-parallel-size 8
  --pipeline-model-parallel-size 1
  --context-parallel-size 1
  --sequence-parallel
  --recompute-granularity selective
  --overlap-grad-reduce
  --ddp-bucket-size 6553600
  --mock-data
)
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nnodes 1 --nproc_per_node 8 \
  --standalone \
  pretrain_gpt.py "${ARGUMENTS[@]}"
# to be added: --train-iters or --train-samples; --lr
# not represented: cluster.node; cluster.device; cluster.fabric
