#!/usr/bin/env bash
# The round on a machine with a GPU, called by `./dev gpu FOLDER` when everything is built. What is
# worth most comes first: kernels beside their CPU twins, the GPU measured and calibrated, training
# steps predicted and measured, ours and PyTorch's; then plans on 1, 2 and 4 ranks verified, green
# contexts, the kernels under compute-sanitizer, and the whole matrix.
# Usage: round.sh FOLDER SECONDS, which it may take.
# Each part leaves NAME.log in FOLDER, and NAME.done when it has come to its end; parts that are
# done are not done again. A part that takes longer than its own limit is stopped and has failed;
# one that the end of the round stops goes on with the next call. Exit code 1: a part failed.
set -uo pipefail
folder=$1
round=$2
plait=build/plait
kernels_test=build/tests/kernels/cuda/cuda_kernels_gpu_test
plans_test=build/tests/realrun/cuda/cuda_realrun_gpu_test
failed=0
STOPPED=124 KILLED=137 # exit codes of timeout

# part NAME LIMIT COMMAND...: LIMIT in seconds.
part() {
  local name=$1 limit=$2 left=$((round - SECONDS)) status=0
  shift 2
  [[ -e $folder/$name.done ]] && return 0
  if ((left <= 0)); then
    echo "left for the next call: $name"
    return 0
  fi
  timeout --kill-after=5 "$((left < limit ? left : limit))" "$@" >"$folder/$name.log" 2>&1 || status=$?
  if ((status == 0)); then
    touch "$folder/$name.done"
    echo "done: $name"
  elif (((status == STOPPED || status == KILLED) && left < limit)); then
    echo "stopped, goes on with the next call: $name"
  else
    failed=1
    echo "FAILED (exit code $status): $name, see $folder/$name.log"
  fi
}

# The machine of the catalogue that has this GPU; without one, that of the scenarios is predicted.
cluster_of_gpu() {
  case $(nvidia-smi --query-gpu=name --format=csv,noheader) in
    "NVIDIA H200"*) echo hgx-h200 ;;
    "NVIDIA H100"*) echo hgx-h100 ;;
    "NVIDIA A100"*) echo dgx-a100 ;;
    "NVIDIA B200"*) echo hgx-b200 ;;
  esac
}

part device 10 nvidia-smi \
  --query-gpu=name,driver_version,clocks.max.sm,clocks.max.memory,power.limit --format=csv
part topology 10 nvidia-smi topo -m
part version 10 "$plait" --version
part kernels 120 "$kernels_test" --gtest_brief=1

part bench-compute 180 "$plait" bench compute --backend cuda -o "$folder/compute.jsonl"
part bench-copy 60 "$plait" bench copy --backend cuda -o "$folder/copy.jsonl"
gpus=$(nvidia-smi -L | grep -c '^GPU')
part bench-overlap 40 "$plait" bench overlap --backend cuda -o "$folder/overlap.jsonl"
if ((gpus > 1)); then
  part bench-overlap-nccl 60 "$plait" bench overlap --backend cuda --ranks "$gpus" \
    -o "$folder/overlap-nccl.jsonl"
fi
measured=("$folder/compute.jsonl" "$folder/copy.jsonl")
for way in overlap overlap-nccl; do
  [[ -e $folder/bench-$way.done ]] && measured+=("$folder/$way.jsonl")
done
if [[ -e $folder/bench-compute.done && -e $folder/bench-copy.done ]]; then
  part calibrate 60 "$plait" calibrate "${measured[@]}" -o "$folder/calibration.json"
fi
calibration=()
[[ -e $folder/calibrate.done ]] && calibration=(--calibration "$folder/calibration.json")
cluster_of_gpu >"$folder/cluster"
machine=()
[[ -s $folder/cluster ]] && machine=(--set "cluster.preset=$(<"$folder/cluster")")
has_torch=0
python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null && has_torch=1
((has_torch)) || echo "left out: steps in PyTorch, which python3 has not, or not for this GPU"
for scenario in scenarios/gpu-round/*.json; do
  name=${scenario##*/}
  name=${name%.json}
  if ! "$plait" check "$scenario" ${machine[@]+"${machine[@]}"} >"$folder/$name.check"; then
    echo "left out: $name, which does not fit"
    continue
  fi
  part "$name" 90 "$plait" realrun "$scenario" ${machine[@]+"${machine[@]}"} --backend cuda \
    --warmup 2 --repeats 5 ${calibration[@]+"${calibration[@]}"} -o "$folder/$name.json"
  ((has_torch)) || continue
  part "$name-arguments" 10 "$plait" export "$scenario" --to megatron-core -o "$folder/$name.args"
  part "$name-torch" 90 python3 bench/gpu/torch_step.py "$folder/$name.args" \
    -o "$folder/$name.torch" --trace "$folder/$name.pt.trace.json.gz"
done
if ((has_torch)); then
  for attention in flash cudnn; do
    part "torch-serve-$attention" 90 python3 bench/gpu/torch_serve.py --attention "$attention" \
      -o "$folder/torch-serve-$attention.json"
  done
  for arguments in "$folder"/*.args; do # torch.compile does not look into a mixture
    name=${arguments##*/}
    name=${name%.args}
    grep -q -- --num-experts "$arguments" || part "$name-compiled" 120 \
      python3 bench/gpu/torch_step.py "$arguments" --compile -o "$folder/$name.compiled"
  done
  if python3 -c 'import transformers, accelerate' 2>/dev/null; then
    for arguments in "$folder"/llama-3b-{micro-1,full}.args; do
      name=${arguments##*/}
      name=${name%.args}
      part "$name-trainer" 90 python3 bench/gpu/trainer_step.py "$arguments" -o "$folder/$name.trainer"
      part "$name-autocast" 90 python3 bench/gpu/trainer_step.py "$arguments" --autocast \
        -o "$folder/$name.autocast"
    done
  fi
  part torch-ops 60 python3 bench/gpu/torch_ops.py -o "$folder/torch-ops.json"
  part torch-rows 90 python3 bench/gpu/torch_rows.py -o "$folder/torch-rows.json"
fi
part predictions 60 bench/gpu/predict.sh "$folder"

if ((gpus > 1)); then
  part bench-comm 180 "$plait" bench comm --backend cuda --ranks "$gpus" -o "$folder/comm.jsonl"
fi

# verified NAME STRATEGY RANKS [MODEL [DOCUMENTS]]
verified() {
  part "verify-$1" 60 "$plait" realrun scenarios/tiny/tiny-8xh100.json --set "strategy=$2" \
    --set "model=${4:-tiny}" ${5:+--set "workload.documents=$5"} --set cluster.nodes=1 \
    --set "cluster.devices_per_node=$3" --verify --backend cuda --precision fp32,bf16 --steps 2
}
EXPERTS='{"preset": "tiny", "experts": 4, "experts_per_token": 2, "expert_ffn_hidden": 32}'
LATENTS='{"preset": "tiny", "head_dim": 24, "rope_head_dim": 8, "v_head_dim": 16,
  "q_lora_rank": 24, "kv_lora_rank": 16}'
verified fsdp-2 '{"fsdp": 2}' 2
verified tp-2-sp '{"tp": 2, "sequence_parallel": true}' 2
verified pp-2 '{"pp": 2}' 2
verified tp-2-fsdp-2 '{"tp": 2, "fsdp": 2}' 4
verified pp-2-cp-2 '{"pp": 2, "cp": 2}' 4
verified ring-2 '{"cp": 2, "context": "ring"}' 2
verified ulysses-2-tp-2 '{"cp": 2, "tp": 2, "context": "ulysses"}' 4
verified tp-2-in-pieces '{"tp": 2, "sequence_parallel": true, "tensor": {"overlap": "ring"}}' 2
verified zero-plus-plus-4 '{"dp": 2, "fsdp": 2, "zero_plus_plus":
  {"secondary_shard": true, "quantized_weights": true, "quantized_gradients": true}}' 4
verified parameter-server-4 '{"dp": 4, "parameter_server": {"servers": 2}}' 4
verified offload-2 '{"fsdp": 2, "offload": {"optimizer": "cpu", "parameters": "cpu"}}' 2
verified experts-ep-2-dp-2 '{"ep": 2, "dp": 2, "zero_stage": 1}' 4 "$EXPERTS"
verified latents-tp-2 '{"tp": 2, "sequence_parallel": true}' 2 "$LATENTS"
verified documents-2 '{"dp": 2}' 2 tiny '{"packing": "packed", "length": 30}'
verified further-tokens-pp-2 '{"pp": 2}' 2 '{"preset": "tiny", "mtp_layers": 1}'
part plans 240 "$plans_test" --gtest_brief=1 --gtest_filter='-CudaMatrix.*'

# on_green_contexts NAME STRATEGY RANKS: the same, and its steps timed, ranks on their own
# multiprocessors.
on_green_contexts() {
  local shape=(--set "strategy=$2" --set cluster.nodes=1 --set "cluster.devices_per_node=$3"
    --backend cuda-green)
  part "green-$1" 60 "$plait" realrun scenarios/tiny/tiny-8xh100.json --set model=tiny \
    "${shape[@]}" --verify --precision fp32,bf16 --steps 2
  part "green-$1-timed" 60 "$plait" realrun scenarios/gpu-round/gpt2-124m-micro-8.json \
    --set 'model={"preset": "gpt2", "vocab": 50304}' "${shape[@]}" --warmup 2 --repeats 5 -o "$folder/green-$1.timed"
}
on_green_contexts fsdp-2 '{"fsdp": 2}' 2
on_green_contexts tp-2-sp '{"tp": 2, "sequence_parallel": true}' 2
on_green_contexts pp-2-dp-2 '{"pp": 2, "dp": 2}' 4

# sanitized TOOL KIND LIMIT: the tests of a kind of kernels.
sanitized() {
  part "$1-${2,,}" "$3" compute-sanitizer --tool "$1" --error-exitcode 1 "$kernels_test" \
    --gtest_brief=1 --gtest_filter="*$2*:-*Cudnn*"
}
if command -v compute-sanitizer >/dev/null; then
  for kind in Activation Add Cast CrossEntropy DealHeads Embedding Norm Quantize Route; do
    sanitized memcheck "$kind" 60
    sanitized racecheck "$kind" 60
  done
  sanitized memcheck Attention 60
else
  echo "left out: compute-sanitizer is not installed"
fi

# A slice at a time: what is done stays done.
for type in Fp32 Bf16; do
  for slice in {0..15}; do
    part "matrix-${type,,}-$slice" 120 "$plans_test" --gtest_brief=1 \
      --gtest_also_run_disabled_tests --gtest_filter="*EveryCaseIn$type/$slice"
  done
done
if command -v compute-sanitizer >/dev/null; then
  sanitized racecheck Attention 400 # more than 2 minutes on an H200
fi
python3 bench/gpu/table.py "$folder" --json "$folder/comparison.json" | tee "$folder/table.txt"
exit "$failed"
