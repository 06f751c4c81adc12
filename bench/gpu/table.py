#!/usr/bin/env python3
"""table.py FOLDER: what `./dev gpu` measured, each training step beside its predictions: the one of
its report (by the calibration, where there was one), and the one of the data sheet."""

import json
import statistics
import sys
from pathlib import Path


def step_time(path, key="step_time_s"):
    return json.loads(path.read_text(encoding="utf-8")).get(key) if path.exists() else None


def rows(folder):
    for path in sorted(folder.glob("*.json")):
        measured = step_time(path)
        if measured:  # else a calibration
            predictions = {"fitted": None, "data sheet": step_time(path.with_suffix(".datasheet"))}
            if (folder / "calibrate.done").exists():
                predictions["fitted"] = step_time(path, "predicted_step_time_s")
            yield path.stem, measured, predictions


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = list(rows(Path(sys.argv[1])))
    if not found:
        print("no training step was timed")
        return
    print(f"{'configuration':<24} {'measured ms':>12} {'fitted ms':>13} {'error':>8}   "
          f"{'data sheet ms':>13} {'error':>8}")
    errors = {"fitted": [], "data sheet": []}
    for name, measured, predictions in found:
        line = f"{name:<24} {1e3 * measured:>12.2f}"
        for kind, predicted in predictions.items():
            if not predicted:
                line += f" {'-':>13} {'-':>8}  "
                continue
            errors[kind].append(predicted / measured - 1)
            line += f" {1e3 * predicted:>13.2f} {100 * errors[kind][-1]:>+6.1f} %  "
        print(line.rstrip())
    for kind, of_kind in errors.items():
        if of_kind:
            print(f"median of the errors' sizes, {kind}: "
                  f"{100 * statistics.median(map(abs, of_kind)):.1f} %")


if __name__ == "__main__":
    main()
