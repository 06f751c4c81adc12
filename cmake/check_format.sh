#!/usr/bin/env bash
# Formats every C++ file of the checkout; with --check only names those that differ (exit code 1).
# Exit code 77 (skipped) where the clang-format at hand is another major version than the floor:
# versions disagree about details.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

FLOOR=14
if ! clang-format --version 2>/dev/null | grep -q "version $FLOOR\."; then
  echo "SKIPPED: clang-format $FLOOR is not installed"
  exit 77
fi

mode=(-i)
if [[ ${1:-} == --check ]]; then
  mode=(--dry-run --Werror)
fi
# Outside of a git checkout (a source archive) every file on disk counts.
if ! sources=$(git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' 2>/dev/null) || [[ -z $sources ]]; then
  sources=$(find . -path './build*' -prune -o -regex '.*\.\(h\|cpp\|cu\|cuh\)' -print)
fi
files=()
while read -r file; do
  [[ ! -f $file ]] || files+=("$file")
done <<<"$sources"
clang-format "${mode[@]}" "${files[@]}"
