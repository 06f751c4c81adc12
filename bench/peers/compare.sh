#!/usr/bin/env bash
# Runs the same 1F1B work on Plait and on SimGrid and prints how many times faster Plait is.
# Usage: compare.sh BUILD_DIRECTORY [STAGES MICROBATCHES REPLICAS]
set -euo pipefail

programs=${1:?usage: compare.sh BUILD_DIRECTORY [STAGES MICROBATCHES REPLICAS]}/bench/peers
shift
REPEATS=3

# fastest PROGRAM ARGS: the row with the fewest seconds (column 4) of a few runs.
fastest() {
  for ((i = 0; i < REPEATS; ++i)); do
    "$@" | tail -n 1
  done | sort -k4,4g | head -n 1
}

plait=$(fastest "$programs/plait_1f1b" "$@")
"$programs/plait_1f1b" "$@" | head -n 1
printf '%s\n' "$plait"
if [[ ! -x $programs/simgrid_1f1b ]]; then
  echo "SimGrid is not installed (libsimgrid-dev): nothing to compare with"
  exit 0
fi
simgrid=$(fastest "$programs/simgrid_1f1b" "$@")
printf '%s\n' "$simgrid"
awk -v p="$plait" -v s="$simgrid" 'BEGIN {
  split(p, plait); split(s, simgrid)
  printf "plait / simgrid: %.0f times the activities per second, %.0f times faster for the step\n",
         plait[5] / simgrid[5], simgrid[4] / plait[4]
}'
