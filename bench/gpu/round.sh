#!/usr/bin/env bash
# The round on a machine with a GPU, called by `./dev gpu FOLDER` when everything is built: kernels
# beside their CPU twins, plans on 1, 2 and 4 ranks verified, training steps predicted and measured.
# Each part leaves NAME.log in FOLDER, and NAME.done when it has come to its end; parts that are done
# are not done again, and none begins later than MINUTES after the start. Exit code 1: a part failed.
# shellcheck disable=SC2317  # `part` calls the functions
set -uo pipefail
folder=$1
minutes=${MINUTES:-8}
plait=build/plait
failed=0

# part NAME COMMAND...
part() {
  local name=$1
  shift
  [[ -e $folder/$name.done ]] && return 0
  if ((SECONDS > minutes * 60)); then
    echo "left for the next call: $name"
    return 0
  fi
  if "$@" >"$folder/$name.log" 2>&1; then
    touch "$folder/$name.done"
    echo "done: $name"
  else
    failed=1
    echo "FAILED: $name, see $folder/$name.log"
  fi
}

facts() {
  nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.memory,power.limit --format=csv
  nvidia-smi topo -m
  "$plait" --version
}

verified() {
  local strategy=$1 scenario=scenarios/tiny/tiny-8xh100.json
  "$plait" realrun "$scenario" --set "strategy=$strategy" --set cluster.nodes=1 \
    --set "cluster.devices_per_node=$2" --verify --backend cuda --precision fp32,bf16 --steps 2
}

timed() {
  "$plait" realrun "scenarios/gpu-round/$1.json" --backend cuda --warmup 2 --repeats 5 \
    -o "$folder/$1.json"
}

table() {
  python3 bench/gpu/table.py "$folder" | tee "$folder/table.txt"
}

part facts facts
part kernels build/tests/kernels/cuda/cuda_kernels_gpu_test --gtest_brief=1
part verify-fsdp-2 verified '{"fsdp": 2}' 2
part verify-tp-2-sp verified '{"tp": 2, "sequence_parallel": true}' 2
part verify-pp-2 verified '{"pp": 2}' 2
part verify-tp-2-fsdp-2 verified '{"tp": 2, "fsdp": 2}' 4
part verify-pp-2-cp-2 verified '{"pp": 2, "cp": 2}' 4
for scenario in scenarios/gpu-round/*.json; do
  name=${scenario##*/}
  part "${name%.json}" timed "${name%.json}"
done
part plans build/tests/realrun/cuda/cuda_realrun_gpu_test --gtest_brief=1
table
exit "$failed"
