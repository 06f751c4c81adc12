#!/usr/bin/env python3
"""torch_kernels.py TRACE...: the kernels of a step that torch.profiler recorded (torch_step.py
--trace), grouped by what launched them, as JSON: outermost and innermost operator, the kernel's
name without its template's arguments, its variant of PyTorch's element-wise kernels, calls per step,
median time and that of all (products of several shapes may share a row), and of element-wise
kernels how many elements a call covers."""

import collections
import gzip
import json
import re
import statistics
import sys
from pathlib import Path

THREADS_TIMES_ELEMENTS = 128 * 4  # of a block of elementwise_kernel<128, 4, ...> and of unrolled ones
STEPS = 3  # that torch_step.py records
VARIANTS = [("cast", "unrolled_elementwise_kernel<"), ("strided", "elementwise_kernel<128, 4"),
            ("vectorized", "vectorized_elementwise_kernel<")]


def variant_of(kernel):
    if "vectorized_elementwise_kernel<" in kernel:
        return "vectorized"
    return next((name for name, prefix in VARIANTS if prefix in kernel), None)


def short(kernel):
    """`void at::native::(anonymous namespace)::f<...>(...)` is f."""
    plain = re.sub(r"\(anonymous namespace\)::|^void |at::native::", "", kernel)
    return re.split(r"[<(]", plain, maxsplit=1)[0]


def outermost(operators):
    """By identity of an operator: the one that it ran in, of all on its thread."""
    threads = collections.defaultdict(list)
    for operator in operators:
        threads[operator["tid"]].append(operator)
    top = {}
    for of_thread in threads.values():
        end, current = float("-inf"), None
        for operator in sorted(of_thread, key=lambda o: (o["ts"], -o["dur"])):
            if operator["ts"] >= end:
                end, current = operator["ts"] + operator["dur"], operator
            top[operator["args"].get("External id")] = current["name"]
    return top


def groups_of(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    operators = [e for e in events if e.get("cat") == "cpu_op"]
    inner = {o["args"].get("External id"): o["name"] for o in operators}
    outer = outermost(operators)
    groups = collections.defaultdict(list)
    for event in events:
        if event.get("cat") != "kernel":
            continue
        by, variant = event["args"].get("External id"), variant_of(event["name"])
        elements = None
        if variant in ("cast", "strided"):
            elements = event["args"]["grid"][0] * THREADS_TIMES_ELEMENTS
        groups[outer.get(by, ""), inner.get(by, ""), short(event["name"]), variant,
               elements].append(event["dur"])
    return groups


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    result = {}
    for path in map(Path, sys.argv[1:]):
        rows = []
        for (outer, inner, kernel, variant, elements), times in groups_of(path).items():
            row = {"launched_by": outer.replace("autograd::engine::evaluate_function: ", ""),
                   "operator": inner, "kernel": kernel, "calls_per_step": len(times) / STEPS,
                   "median_us": round(statistics.median(times), 3),
                   "all_us_per_step": round(sum(times) / STEPS, 1)}
            if variant:
                row["variant"] = variant
            if elements:
                row["elements"] = elements
            rows.append(row)
        rows.sort(key=lambda row: -row["all_us_per_step"])
        result[path.name.split(".pt.trace")[0]] = [r for r in rows if r["median_us"] >= 5]
    json.dump(result, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
