#!/usr/bin/env python3
"""Every error and warning code in the source is documented in docs/errors.md, and the reverse."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["core", "model", "topologies", "plan", "scenarios", "search", "costmodel", "sim", "serving", "realrun",
           "reports", "cli"]
CODE = re.compile(r"\b([JUFSCTMPGKVWDR]0\d\d)\b")


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
    for code in missing:
        print(f"{used[code]}: {code} is not in docs/errors.md")
    for code in stale:
        print(f"docs/errors.md: {code} is nowhere in the source")
    print(f"errors: {len(used)} codes, {len(missing)} undocumented, {len(stale)} stale")
    return 1 if missing or stale else 0


if __name__ == "__main__":
    sys.exit(main())
