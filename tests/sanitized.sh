#!/usr/bin/env bash
# The tests of what reads input, as `./dev nightly` has built them under address and undefined behaviour
# sanitizers. Exit code 77: skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ ! -e build-debug/CTestTestfile.cmake ]]; then
  echo "SKIPPED: there is no build-debug (./dev nightly makes it), so nothing ran under sanitizers" >&2
  exit 77
fi
exec ctest --preset debug -L sanitized
