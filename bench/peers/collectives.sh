#!/usr/bin/env bash
# Runs collectives on Plait and on SimGrid, message by message, and prints when they end on each and
# how many times faster Plait is. Usage: collectives.sh BUILD_DIRECTORY
# Exit code 1 where the two differ by more than 1 %.
set -euo pipefail

program=${1:?usage: collectives.sh BUILD_DIRECTORY}/bench/peers/collectives_on_both
if [[ ! -x $program ]]; then
  echo "SimGrid is not installed (libsimgrid-dev): nothing to compare with"
  exit 0
fi
printf '%-32s %6s %10s %12s %12s %11s %12s %12s %8s\n' case hosts transfers plait_s simgrid_s \
  difference plait_per_s simgrid_per_s ratio
status=0
for ((i = 0; i < $("$program"); ++i)); do
  "$program" "$i" || status=1
done
exit "$status"
