#!/usr/bin/env bash
# Two builds of the command, by g++ with optimisation and by clang++ with sanitizers and without, say
# the same bytes about every scenario: reports, plans and traces. `./dev nightly` makes both.
# Environment: PLAIT, the command under test; PLAIT_SOURCE_DIR. Exit code 77: skipped.
set -euo pipefail
shopt -s extglob  # in the patterns below
cd "$PLAIT_SOURCE_DIR"
under_test=${PLAIT:?the command under test}
other=build-debug/plait

if [[ ! -x $other ]]; then
  echo "SKIPPED: there is no $other (./dev nightly makes it), so nothing compared two builds" >&2
  exit 77
fi
if [[ $("$under_test" version) != $("$other" version) ]]; then
  echo "$under_test and $other are not of the same sources; build both again (./dev nightly)"
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# calls_of SCENARIO FOLDER: what is asked about it, a line for each. JSON has every number of a report;
# the other formats, and what takes long under sanitizers, are asked about small scenarios, or of
# a part of a large one.
calls_of() {
  local json="run --format json"
  if grep -q '"serving":' "$1"; then
    echo "serve --format json$(less_of "$1")"
    [[ $1 == *vllm* ]] || printf '%s\n' "serve --format csv" serve
    return
  fi
  if [[ $1 == scenarios/@(tiny|side-by-side|mistral)/* ]]; then
    json+=" --trace $2/trace"
    printf '%s\n' "run --format csv" run check "run --network flow"
  fi
  printf '%s\n' "$json$(less_of "$1")" "plan$(less_of "$1")"
}

# less_of SCENARIO: of those that take longest, a part that has all of their kinds of work: two
# microbatches for each stage, 50 requests. The whole is compared with tests/golden/predictions.json.
less_of() {
  case $1 in
    */megatron-530b-280xa100.json) echo " --set workload.global_batch=70" ;;
    */megatron-530b-2520xa100.json) echo " --set workload.global_batch=630" ;;
    */megatron-1t-512xa100.json) echo " --set workload.global_batch=128" ;;
    */megatron-1t-3072xa100.json) echo " --set workload.global_batch=768" ;;
    *vllm*) echo " --set serving.requests.count=50" ;;
  esac
}

# all_outputs COMMAND SCENARIO FOLDER KEPT: everything that the command says about a scenario, moved
# to the folder KEPT. The exit code belongs to it (1 where the model does not fit). Both commands run
# as the same path on the same files, because a report quotes its command line.
all_outputs() {
  local plait=$3/plait folder=$3/out scenario=$2 code call
  mkdir -p "$folder"
  ln -f "$1" "$plait" 2>/dev/null || cp -f "$1" "$plait"
  while read -r call; do
    code=0
    # shellcheck disable=SC2086  # the words of a call
    "$plait" $call "$scenario" >"$folder/${call%% --trace*}.out" 2>"$3/stderr" || code=$?
    echo "exit code $code" >>"$folder/${call%% --trace*}.out"
    if ((code > 1)); then
      cat "$3/stderr"
      echo "FAILED: $1 $call $scenario: exit code $code"
      return 1
    fi
  done < <(calls_of "$scenario" "$folder")
  mv "$folder" "$4"
}

compare() {
  local scenario=$1 mine
  mine=$work/${scenario//\//,}
  all_outputs "$under_test" "$scenario" "$mine" "$mine.one" &&
    all_outputs "$other" "$scenario" "$mine" "$mine.other" || return 1
  diff -r "$mine.one" "$mine.other" || {
    echo "FAILED: two builds disagree about $scenario"
    return 1
  }
  rm -rf "$mine.one" "$mine.other"
}

scenarios=(scenarios/*/*.json)
export -f compare all_outputs calls_of less_of
export work under_test other
printf '%s\n' "${scenarios[@]}" | xargs -P "$(nproc)" -I '{}' bash -O extglob -euc 'compare {}'
echo "${#scenarios[@]} scenarios: the same bytes from both builds"
