#!/usr/bin/env bash
# predict.sh FOLDER: the steps of the round as this build predicts them, beside what was measured in
# FOLDER: NAME.datasheet, NAME.fitted (by FOLDER/calibration.json, where there is one), and
# NAME.pytorch, as eager PyTorch would run them. FOLDER/cluster names the machine; it needs no GPU.
set -uo pipefail
folder=$1
plait=build/plait
status=0
machine=()
[[ -s $folder/cluster ]] && machine=(--set "cluster.preset=$(<"$folder/cluster")")

# predicted FILE SCENARIO ARGUMENTS...; exit code 1 of `plait run`: it does not fit, and is predicted.
predicted() {
  "$plait" run "$2" --format json -o "$1" ${machine[@]+"${machine[@]}"} "${@:3}" || (($? == 1)) || status=1
}
for scenario in scenarios/gpu-round/*.json; do
  name=${scenario##*/}
  name=$folder/${name%.json}
  predicted "$name.datasheet" "$scenario"
  predicted "$name.pytorch" "$scenario" --set framework=pytorch
  [[ ! -e $folder/calibration.json ]] ||
    predicted "$name.fitted" "$scenario" --set "calibration=$folder/calibration.json"
done
exit "$status"
