#!/usr/bin/env python3
"""table.py FOLDER: what `./dev gpu` measured. Kernels that memory limits beside the roof, which is the
bandwidth of a copy; each training step beside its predictions: the one of its report (by the
calibration, where there was one), and the one of the data sheet."""

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


# A large shape: its traffic is several times what a second-level cache holds (H200: 50 MiB).
LARGE_BYTES = 256 << 20
ON_MATRIX_UNITS = ("matmul", "attention")  # the others are limited by memory


def measurements(path, kind):
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [row for row in map(json.loads, filter(None, lines)) if row["kind"] == kind]


def name_of(op):
    return " ".join(str(op[key]) for key in ("op", "kind", "step", "pass", "dtype") if key in op)


def print_roof(folder):
    """The best bandwidth of each kernel over its large shapes."""
    copies = [row["bandwidth_bytes_per_s"] for row in measurements(folder / "copy.jsonl", "copy")
              if row["what"] == "copy" and row["bytes"] >= LARGE_BYTES // 2]
    best = {}
    for row in measurements(folder / "compute.jsonl", "kernel"):
        limited = row["op"]["op"] not in ON_MATRIX_UNITS
        if limited and row.get("traffic_bytes", 0) >= LARGE_BYTES:
            name = name_of(row["op"])
            reached = row["traffic_bytes"] / row["wall_s"]["median"]
            best[name] = max(best.get(name, 0), reached)
    if not copies or not best:
        print("no large copy or kernel was measured")
        return
    roof = max(copies)
    print(f"{'kernel':<48} {'GB/s':>8}   of a copy's {roof / 1e9:.0f} GB/s")
    for name, reached in sorted(best.items(), key=lambda item: item[1]):
        print(f"{name:<48} {reached / 1e9:>8.0f} {100 * reached / roof:>6.1f} %")
    below = sum(reached < 0.85 * roof for reached in best.values())
    print(f"{below} of {len(best)} are below 85 %\n")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print_roof(Path(sys.argv[1]))
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
