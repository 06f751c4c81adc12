#!/usr/bin/env bash
# predict.sh FOLDER: the steps of the round as this build predicts them, beside what was measured in
# FOLDER: NAME.datasheet, NAME.fitted (by FOLDER/calibration.json, where there is one), NAME.pytorch
# and NAME.inductor, as torch_step.py runs them in eager PyTorch and with --compile; those that
# trainer_step.py measured, NAME.trainer-predicted and NAME.autocast-predicted; and the steps of
# torch_serve.py. FOLDER/cluster names the machine; it needs no GPU.
set -uo pipefail
folder=$(cd "$1" && pwd)
plait=${PLAIT:-build/plait}
status=0
cluster=
[[ -s $folder/cluster ]] && cluster=$(<"$folder/cluster")

# predicted FILE SCENARIO ARGUMENTS...; exit code 1 of `plait run`: it does not fit, and is predicted.
predicted() {
  local machine=()
  [[ -z $cluster ]] || grep -q "\"$cluster\"" "$2" || machine=(--set "cluster.preset=$cluster")
  # W002: a model without such norms has no use for the setting.
  "$plait" run "$2" --format json -o "$1" ${machine[@]+"${machine[@]}"} "${@:3}" 2> >(grep -v W002 >&2)
  (($? <= 1)) || status=1
}
# Layers and the loss are compiled: their chains are one kernel each, and the loss has no copies.
compiled=(--set framework=pytorch --set memory.loss_bytes_per_logit=0
  --set memory.loss_gap_bytes_per_logit=0)
for kernel in norm rope activation cross_entropy; do
  compiled+=(--set "kernels.$kernel=fused")
done
trainer=(--set framework=transformers)
for scenario in scenarios/gpu-round/*.json; do
  name=${scenario##*/}
  name=$folder/${name%.json}
  predicted "$name.datasheet" "$scenario"
  # torch.nn.RMSNorm is one kernel since PyTorch 2.9. Few experts have their products one by one, and
  # the host waits for the numbers of their tokens.
  eager=(--set framework=pytorch --set kernels.norm=native)
  experts=$("$plait" export "$scenario" --to megatron-core | sed -n 's/^--num-experts //p')
  ((${experts:-17} > 16)) || eager+=(--set kernels.experts=eager --set host.waits_for_routing=true)
  predicted "$name.pytorch" "$scenario" "${eager[@]}"
  [[ ! -e $name.compiled ]] || predicted "$name.inductor" "$scenario" "${compiled[@]}"
  [[ ! -e $name.trainer ]] || predicted "$name.trainer-predicted" "$scenario" "${trainer[@]}" \
    --set 'workload.precision={"weights": "bf16", "gradients": "bf16", "master": "bf16", "moments": "bf16"}'
  [[ ! -e $name.autocast ]] || predicted "$name.autocast-predicted" "$scenario" "${trainer[@]}" \
    --set 'workload.precision={"weights": "fp32", "autocast": "bf16"}'
  [[ ! -e $folder/calibration.json ]] ||
    predicted "$name.fitted" "$scenario" --set "calibration=$folder/calibration.json"
done
for steps in "$folder"/torch-serve*.json; do
  [[ ! -e $steps ]] || python3 bench/gpu/serve_steps.py "$steps" --plait "$plait" \
    ${cluster:+--cluster "$cluster"} -o "${steps%.json}.predicted" || status=1
done
exit "$status"
