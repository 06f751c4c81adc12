#!/usr/bin/env bash
# g++ and clang++ builds of the command, optimised to different degrees, give the same bytes: reports,
# plans and traces.
# Environment: PLAIT, the command under test; PLAIT_SOURCE_DIR. Exit code 77: skipped.
set -euo pipefail
cd "$PLAIT_SOURCE_DIR"
under_test=${PLAIT:?the command under test}

SCENARIOS=(scenarios/*/*.json)
BUILD=build-clang

if ! command -v clang++ >/dev/null; then
  echo "SKIPPED: clang++ is not installed, so nothing compared the two compilers' results" >&2
  exit 77
fi

launcher=$(command -v ccache) || launcher=
cmake -S . -B "$BUILD" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=clang++ \
  -DCMAKE_CXX_FLAGS_RELEASE="-O0 -DNDEBUG" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DBUILD_TESTING=OFF -DPLAIT_BENCH=OFF -DPLAIT_REALRUN=OFF
cmake --build "$BUILD" --target plait
other=$BUILD/plait

if [[ $("$under_test" version) != $("$other" version) ]]; then
  echo "$under_test is older than the sources; build it again"
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# all_outputs COMMAND SCENARIO KEPT: everything that the command says about a scenario, moved to the
# folder KEPT. The exit code belongs to it (1 where the model does not fit). Both commands run as the
# same path on the same files, because a report quotes its command line.
all_outputs() {
  local plait=$work/plait folder=$work/out scenario=$2 code
  cp "$1" "$plait"
  mkdir "$folder"
  local json="run --format json"
  # The largest pipelines make gigabytes of trace.
  [[ $scenario != scenarios/@(tiny|side-by-side|mistral)/* ]] || json+=" --trace $folder/trace"
  local calls=("$json" "run --format csv" run check plan "run --network flow")
  ! grep -q '"serving":' "$scenario" || calls=("serve --format json" "serve --format csv" serve)
  for call in "${calls[@]}"; do
    code=0
    # shellcheck disable=SC2086  # the words of a call
    "$plait" $call "$scenario" >"$folder/${call%% --trace*}.out" 2>"$folder/stderr" || code=$?
    echo "exit code $code" >>"$folder/${call%% --trace*}.out"
    if ((code > 1)); then
      cat "$folder/stderr"
      echo "FAILED: $1 $call $scenario: exit code $code"
      return 1
    fi
  done
  rm -rf "$3"
  mv "$folder" "$3"
}

for scenario in "${SCENARIOS[@]}"; do
  all_outputs "$under_test" "$scenario" "$work/g++"
  all_outputs "$other" "$scenario" "$work/clang++"
  diff -r "$work/g++" "$work/clang++" || {
    echo "FAILED: g++ and clang++ disagree about $scenario"
    exit 1
  }
done
echo "${#SCENARIOS[@]} scenarios: the same bytes from both compilers"
