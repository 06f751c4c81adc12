#!/usr/bin/env python3
"""table.py FOLDER [--json FILE] [--markdown]: what `./dev gpu` measured. Kernels that memory limits
beside the roof, which is the bandwidth of a copy; each training step, ours and PyTorch's, as it is and
with torch.compile, beside what is predicted: of ours by the calibration and by the data sheet, of
PyTorch's by the data sheet; the same of Hugging Face's Trainer, with what it holds; and a server's
steps in PyTorch beside those of `plait serve`."""

import argparse
import json
import statistics
from pathlib import Path

# A large shape: its traffic is several times what a second-level cache holds (H200: 50 MiB).
LARGE_BYTES = 256 << 20
ON_MATRIX_UNITS = ("matmul", "attention")  # the others are limited by memory
GIB = 1 << 30
AIM = 0.85  # of a copy's bandwidth

# Whose step, the file of what was measured, and what it is predicted from, with the file of that.
PROGRAMS = [("plait", ".json", {"calibration": ".fitted", "data_sheet": ".datasheet"}),
            ("pytorch", ".torch", {"data_sheet": ".pytorch"}),
            ("pytorch_compiled", ".compiled", {"data_sheet": ".inductor"})]
TRAINERS = [("trainer", ".trainer", {"data_sheet": ".trainer-predicted"}),
            ("trainer_autocast", ".autocast", {"data_sheet": ".autocast-predicted"})]
NAMES = {"plait": "Plait", "pytorch": "PyTorch", "pytorch_compiled": "compiled",
         "trainer": "Trainer", "trainer_autocast": "autocast"}


def read(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def measurements(path, kind):
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [row for row in map(json.loads, filter(None, lines)) if row["kind"] == kind]


def name_of(op):
    return " ".join(str(op[key]) for key in ("op", "kind", "step", "pass", "dtype") if key in op)


def roof(folder):
    """The best bandwidth of a copy, and that of each kernel over its large shapes."""
    copies = [row["bandwidth_bytes_per_s"] for row in measurements(folder / "copy.jsonl", "copy")
              if row["what"] == "copy" and row["bytes"] >= LARGE_BYTES // 2]
    best = {}
    for row in measurements(folder / "compute.jsonl", "kernel"):
        limited = row["op"]["op"] not in ON_MATRIX_UNITS
        if limited and row.get("traffic_bytes", 0) >= LARGE_BYTES:
            name = name_of(row["op"])
            reached = row["traffic_bytes"] / row["wall_s"]["median"]
            best[name] = max(best.get(name, 0), reached)
    return max(copies, default=None), dict(sorted(best.items(), key=lambda item: item[1]))


def print_roof(copy, best):
    if not copy or not best:
        print("no large copy or kernel was measured")
        return
    print(f"{'kernel':<48} {'GB/s':>8}   of a copy's {copy / 1e9:.0f} GB/s")
    for name, reached in best.items():
        print(f"{name:<48} {reached / 1e9:>8.0f} {100 * reached / copy:>6.1f} %")
    below = sum(reached < AIM * copy for reached in best.values())
    print(f"{below} of {len(best)} are below {100 * AIM:.0f} %\n")


def key_of(program, source):
    return f"{program}_predicted_by_{source}"


def steps(folder):
    for path in sorted(folder.glob("*.datasheet")):
        row = {"scenario": path.stem}
        for program, suffix, sources in PROGRAMS + TRAINERS:
            measured = read(path.with_suffix(suffix))
            if not measured:
                continue
            step = row[f"{program}_measured_s"] = measured["step_time_s"]
            for source, predicted in sources.items():
                prediction = read(path.with_suffix(predicted))
                if prediction:
                    key = key_of(program, source)
                    row[f"{key}_s"] = prediction["step_time_s"]
                    row[f"{key}_error"] = prediction["step_time_s"] / step - 1
            if "device_memory_in_use_bytes" in measured and prediction:
                row[f"{program}_measured_memory_bytes"] = measured["device_memory_in_use_bytes"]
                row[f"{program}_predicted_memory_bytes"] = prediction["peak_memory_bytes"]
        if len(row) > 1:
            yield row


def timed(rows, programs):
    """Those that have a step among the rows."""
    return [p for p in programs if any(f"{p[0]}_measured_s" in row for row in rows)]


def print_steps(rows):
    if not rows:
        print("no training step was timed")
        return
    head = f"{'configuration':<24}"
    for program, _, sources in timed(rows, PROGRAMS + TRAINERS):
        head += f" {NAMES[program] + ' ms':>11}"
        head += "".join(f" {source.replace('_', ' '):>12} {'error':>8}" for source in sources)
    print(head)
    errors = {}
    for row in rows:
        line = f"{row['scenario']:<24}"
        for program, _, sources in timed(rows, PROGRAMS + TRAINERS):
            measured = row.get(f"{program}_measured_s")
            line += f" {1e3 * measured:>11.1f}" if measured else f" {'-':>11}"
            for source in sources:
                key = key_of(program, source)
                if f"{key}_s" not in row:
                    line += f" {'-':>12} {'-':>8}"
                    continue
                error = row[f"{key}_error"]
                errors.setdefault((program, source), []).append(abs(error))
                line += f" {1e3 * row[f'{key}_s']:>12.1f} {100 * error:>+6.1f} %"
        print(line)
    for (program, source), sizes in errors.items():
        print(f"errors' sizes, {program} by {source.replace('_', ' ')}: "
              f"mean {100 * statistics.mean(sizes):.1f} %, "
              f"median {100 * statistics.median(sizes):.1f} %")


SERVED = {"flash": "FlashAttention-2", "cudnn": "cuDNN"}


def served(folder):
    """Steps of a server: what torch_serve.py measured, and serve_steps.py predicts of them."""
    for path in sorted(folder.glob("torch-serve*.json")):
        measured = read(path)
        predicted = read(path.with_suffix(".predicted"))
        for step, seconds in zip(measured["steps"], predicted.get("steps", [])):
            yield {"attention": measured["attention"],
                   **{key: step[key] for key in ("batch", "context_tokens", "new_tokens")},
                   "measured_s": step["step_time_s"], "predicted_s": seconds,
                   "error": seconds / step["step_time_s"] - 1}


def print_served(rows):
    for row in rows:
        print(f"{row['batch']:>4} of {row['context_tokens']:>6} tokens, {row['new_tokens']:>5} new, "
              f"{SERVED[row['attention']]:<16} {1e3 * row['measured_s']:>8.2f} ms "
              f"{1e3 * row['predicted_s']:>8.2f} {100 * row['error']:>+6.1f} %")


def print_served_markdown(rows):
    print("| sequences | tokens of each | new | attention | PyTorch | predicted |")
    print("| --: | --: | --: | --- | --: | --: |")
    for row in rows:
        print(f"| {row['batch']} | {row['context_tokens']:,} | {row['new_tokens']:,} | "
              f"{SERVED[row['attention']]} | {1e3 * row['measured_s']:.2f} | "
              f"{1e3 * row['predicted_s']:.2f} ({100 * row['error']:+.1f} %) |")


def print_trainer_markdown(rows):
    """The steps of TRAINERS alone, as a table for a page."""
    print("| configuration | precision | Trainer, ms | predicted | memory in use, GiB | predicted |")
    print("| --- | --- | --: | --: | --: | --: |")
    for (program, _, (source,)), precision in zip(TRAINERS, ("bf16", "autocast")):
        for row in rows:
            key, cells = key_of(program, source), [row["scenario"], precision]
            if f"{key}_s" not in row:
                continue
            cells.append(f"{1e3 * row[f'{program}_measured_s']:.1f}")
            cells.append(f"{1e3 * row[f'{key}_s']:.1f} ({100 * row[f'{key}_error']:+.1f} %)")
            held, predicted = (row[f"{program}_{what}_memory_bytes"] for what in ("measured", "predicted"))
            cells.append(f"{held / GIB:.1f}")
            cells.append(f"{predicted / GIB:.1f} ({100 * (predicted / held - 1):+.1f} %)")
            print("| " + " | ".join(cells) + " |")


def print_markdown(rows):
    """The steps alone, as a table for a page."""
    titles, rule = ["configuration"], ["---"]
    for program, _, sources in timed(rows, PROGRAMS):
        titles += [NAMES[program]] + [f"by {source.replace('_', ' ')}" for source in sources]
        rule += ["--:"] * (1 + len(sources))
    for cells in (titles, rule):
        print("| " + " | ".join(cells) + " |")
    for row in rows:
        cells = [row["scenario"]]
        for program, _, sources in timed(rows, PROGRAMS):
            measured = row.get(f"{program}_measured_s")
            cells.append(f"{1e3 * measured:.1f}" if measured else "-")
            for source in sources:
                key = key_of(program, source)
                cells.append(f"{1e3 * row[f'{key}_s']:.1f} ({100 * row[f'{key}_error']:+.1f} %)"
                             if f"{key}_s" in row else "-")
        print("| " + " | ".join(cells) + " |")


def machine(folder):
    """Who measured what, when: of the first row of the kernels' measurements."""
    run = next(iter(measurements(folder / "compute.jsonl", "run")), {})
    torch = next((read(path) for path in sorted(folder.glob("*.torch"))), {})
    return {"device": run.get("processor"), "libraries": run.get("blas"), "date": run.get("date"),
            "torch": torch.get("torch"), "version": run.get("version"),
            "command": f"bench/gpu/round.sh {folder.name} SECONDS"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, help="also write all of it to this file")
    parser.add_argument("--markdown", action="store_true", help="the steps as a table for a page")
    parser.add_argument("--trainer", action="store_true", help="the Trainer's steps as a table for a page")
    parser.add_argument("--served", action="store_true", help="only a server's steps")
    options = parser.parse_args()
    copy, best = roof(options.folder)
    rows, of_server = list(steps(options.folder)), list(served(options.folder))
    if options.served:
        (print_served_markdown if options.markdown else print_served)(of_server)
    elif options.trainer:
        print_trainer_markdown(rows)
    elif options.markdown:
        print_markdown(rows)
    else:
        print_roof(copy, best)
        print_steps(rows)
        print_served(of_server)
    if options.json:
        result = {"machine": machine(options.folder), "copy_bandwidth_bytes_per_s": copy,
                  "kernel_bandwidths_bytes_per_s": best, "steps": rows, "served": of_server}
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
