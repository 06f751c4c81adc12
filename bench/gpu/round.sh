#!/usr/bin/env bash
# The round on a machine with a GPU, called by `./dev gpu FOLDER` when everything is built: kernels
# beside their CPU twins, plans on 1, 2 and 4 ranks verified, the GPU measured and calibrated,
# training steps predicted and measured. Usage: round.sh FOLDER SECONDS, which it may take. Each part
# leaves NAME.log in FOLDER, and NAME.done when it has come to its end; parts that are done are not
# done again. A part that takes longer than its own limit is stopped and has failed; one that the
# end of the round stops goes on with the next call. Exit code 1: a part failed.
set -uo pipefail
folder=$1
round=$2
plait=build/plait
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

# verified NAME STRATEGY RANKS
verified() {
  part "verify-$1" 60 "$plait" realrun scenarios/tiny/tiny-8xh100.json --set "strategy=$2" \
    --set cluster.nodes=1 --set "cluster.devices_per_node=$3" --verify --backend cuda \
    --precision fp32,bf16 --steps 2
}

part device 10 nvidia-smi \
  --query-gpu=name,driver_version,clocks.max.sm,clocks.max.memory,power.limit --format=csv
part topology 10 nvidia-smi topo -m
part version 10 "$plait" --version
part kernels 120 build/tests/kernels/cuda/cuda_kernels_gpu_test --gtest_brief=1
verified fsdp-2 '{"fsdp": 2}' 2
verified tp-2-sp '{"tp": 2, "sequence_parallel": true}' 2
verified pp-2 '{"pp": 2}' 2
verified tp-2-fsdp-2 '{"tp": 2, "fsdp": 2}' 4
verified pp-2-cp-2 '{"pp": 2, "cp": 2}' 4

part bench-compute 180 "$plait" bench compute --backend cuda -o "$folder/compute.jsonl"
part bench-copy 60 "$plait" bench copy --backend cuda -o "$folder/copy.jsonl"
if [[ -e $folder/bench-compute.done && -e $folder/bench-copy.done ]]; then
  part calibrate 60 "$plait" calibrate "$folder/compute.jsonl" "$folder/copy.jsonl" \
    -o "$folder/calibration.json"
fi
calibration=()
[[ -e $folder/calibrate.done ]] && calibration=(--calibration "$folder/calibration.json")
for scenario in scenarios/gpu-round/*.json; do
  name=${scenario##*/}
  name=${name%.json}
  part "$name" 90 "$plait" realrun "$scenario" --backend cuda --warmup 2 --repeats 5 \
    ${calibration[@]+"${calibration[@]}"} -o "$folder/$name.json"
  part "$name-datasheet" 20 "$plait" run "$scenario" --format json -o "$folder/$name.datasheet"
done
part plans 240 build/tests/realrun/cuda/cuda_realrun_gpu_test --gtest_brief=1
part matrix 240 build/tests/realrun/cuda/cuda_realrun_gpu_test --gtest_brief=1 \
  --gtest_also_run_disabled_tests --gtest_filter='*EveryCase*'
python3 bench/gpu/table.py "$folder" | tee "$folder/table.txt"
exit "$failed"
