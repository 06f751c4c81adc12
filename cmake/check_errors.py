#!/usr/bin/env python3
"""Every error and warning code in the source is documented in docs/errors.md, and the reverse; and each
documented one stands in a test: a file of code under tests/. Not asked for: faults of plans (P0xx), which the C++
tests name by their kind, and what UNTESTED lists."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["core", "model", "topologies", "plan", "scenarios", "search", "costmodel", "sim", "serving", "realrun",
           "reports", "prediction", "cli"]
CODE = re.compile(r"\b([JUFSCTMPGKVWDR]0\d\d|S1\d\d)\b")
UNTESTED = {
    # simulate() with a plan of other ranks than the cluster has devices, which tests/sim/blocked_test.cpp expects of it
    # by type: no command comes so far, as the reader of scenarios says S001 or S002 first.
    "S045",
}


def codes_in_tests():
    found = set()
    for path in sorted((ROOT / "tests").rglob("*")):
        if path.suffix in (".h", ".cpp", ".py"):
            found.update(CODE.findall(path.read_text(encoding="utf-8")))
    return found


def main():
    used = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                for code in CODE.findall(line):
                    used.setdefault(code, f"{path.relative_to(ROOT)}:{number}")
    documented = set(CODE.findall((ROOT / "docs/errors.md").read_text(encoding="utf-8")))
    built = {f"P00{k}" for k in range(1, 9)}  # made from the enumeration of fault kinds
    missing = sorted(set(used) - documented)
    stale = sorted(documented - set(used) - built)
    tested = codes_in_tests()
    untested = sorted(code for code in documented - tested - UNTESTED if not code.startswith("P"))
    excused = sorted(UNTESTED & tested | UNTESTED - documented)
    for code in missing:
        print(f"{used[code]}: {code} is not in docs/errors.md")
    for code in stale:
        print(f"docs/errors.md: {code} is nowhere in the source")
    for code in untested:
        print(f"docs/errors.md: {code} is in no test: give it a row in tests/cli/codes_test.py")
    for code in excused:
        print(f"cmake/check_errors.py: {code} needs no exception: it is in a test, or is no code any more")
    print(f"errors: {len(used)} codes, {len(missing)} undocumented, {len(stale)} stale, {len(untested)} in no test")
    return 1 if missing or stale or untested or excused else 0


if __name__ == "__main__":
    sys.exit(main())
