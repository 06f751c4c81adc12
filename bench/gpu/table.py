#!/usr/bin/env python3
"""table.py FOLDER: what `./dev gpu` measured, each training step beside its prediction."""

import json
import statistics
import sys
from pathlib import Path


def rows(folder):
    for path in sorted(folder.glob("*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        measured, predicted = report["step_time_s"], report.get("predicted_step_time_s")
        yield path.stem, measured, predicted


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = list(rows(Path(sys.argv[1])))
    if not found:
        print("no training step was timed")
        return
    print(f"{'configuration':<24} {'measured ms':>12} {'predicted ms':>13} {'error':>8}")
    errors = []
    for name, measured, predicted in found:
        line = f"{name:<24} {1e3 * measured:>12.2f}"
        if predicted:
            errors.append(predicted / measured - 1)
            line += f" {1e3 * predicted:>13.2f} {100 * errors[-1]:>+7.1f} %"
        print(line)
    if errors:
        print(f"median of the errors' sizes: {100 * statistics.median(map(abs, errors)):.1f} %")


if __name__ == "__main__":
    main()
