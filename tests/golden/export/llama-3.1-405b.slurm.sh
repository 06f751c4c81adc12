#!/usr/bin/env bash
#SBATCH --nodes=2048
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --exclusive
# megatron-core: arguments of Megatron-LM's pretrain_gpt.py (at commit 000c4ac2)
# scenario: llama-3.1-405b-16384xh100
set -euo pipefail
ARGUMENTS=(
  --num-layers 126
  --hidden-size 16384
  --num-attention-heads 128
  --ffn-hidden-size 53248
  --kv-channels 128
  --group-query-attention
  --num-query-groups 8
  --max-position-embeddings 131072
  --tokenizer-type NullTokenizer
  --vocab-size 128255
  --padded-vocab-size 128256
  --normalization RMSNorm
  --position-embedding-type rope
  --untie-embeddings-and-output-weights
  --attention-dropout 0
  --hidden-dropout 0
  --swiglu
  --disable-bias-linear
  --seq-length 8192
  --global-batch-size 2048
  --micro-batch-size 1
  --bf16
  --accumulate-allreduce-grads-in-fp32
  --attention-backend flash
  --cross-entropy-loss-fusion
  --clip-grad 1.0
  --tensor-model-parallel-size 8
  --pipeline-model-parallel-size 16
  --context-parallel-size 1
  --sequence-parallel
  --num-virtual-stages-per-pipeline-rank 8
  --account-for-embedding-in-pipeline-split
  --account-for-loss-in-pipeline-split
  --use-distributed-optimizer
  --use-megatron-fsdp
  --data-parallel-sharding-strategy optim_grads
  --ckpt-format fsdp_dtensor
  --no-gradient-accumulation-fusion
  --overlap-grad-reduce
  --overlap-param-gather
  --ddp-bucket-size 6553600
  --mock-data
)
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes 2048 --nproc_per_node 8 \
  --rdzv_backend c10d --rdzv_endpoint "${MASTER_ADDR}:${MASTER_PORT:-29500}" \
  pretrain_gpt.py "${ARGUMENTS[@]}"
# to be added: --train-iters or --train-samples; --lr
# not represented: cluster.node; cluster.device; cluster.fabric
