"""How torch_ops.py and torch_rows.py time kernels on one GPU: the second-level cache is swept before
each repeat; a call as a whole between two events, or kernel by kernel as the profiler saw them."""

import argparse
import json
import statistics
import sys
from pathlib import Path

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from torch_kernels import short

BF16 = torch.bfloat16
SWEPT = 128 << 20  # bytes, more than any second-level cache


def is_sweep(event):
    """Kernels may set a little memory themselves."""
    sets = event.name.startswith("Memset") or "FillFunctor<unsigned char>" in event.name
    return sets and event.time_range.elapsed_us() > SWEPT / 8e6  # at 8 TB/s


class Clock:
    def __init__(self):
        self.swept = torch.empty(SWEPT, dtype=torch.uint8, device="cuda")

    def ms(self, work, repeats=8, warmup=3):
        for _ in range(warmup):
            work()
        times = []
        for _ in range(repeats):
            self.swept.zero_()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            work()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end))
        return statistics.median(times)

    def kernels_us(self, works, repeats=5):
        """Of each call in a dictionary its kernels in the order in which they run, as pairs of a name
        and the median time. What sweeps the cache tells one call from the next."""
        for work in list(works.values()) * 3:
            work()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            for work in list(works.values()) * repeats:
                self.swept.zero_()
                work()
            torch.cuda.synchronize()
        events = [e for e in profiler.events() if e.device_type == DeviceType.CUDA]
        calls = []
        for event in sorted(events, key=lambda e: e.time_range.start):
            if is_sweep(event):
                calls.append([])
            elif calls:
                calls[-1].append((short(event.name), event.time_range.elapsed_us()))
        if len(calls) != len(works) * repeats:
            raise RuntimeError(f"{len(calls)} sweeps for {len(works) * repeats} calls")
        return {name: [[kernel[0][0], round(statistics.median(us for _, us in kernel), 2)]
                       for kernel in zip(*calls[i::len(works)])] for i, name in enumerate(works)}


def normal(*shape):
    return torch.randn(*shape, device="cuda", dtype=BF16)


def measure_all(about, work):
    """The program `NAME [-o RESULT]`, RESULT being JSON: for each of `work`, a name, a function of the
    clock and a shape, shapes, and the names of their sizes, one row a shape."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    clock, rows = Clock(), []
    for name, measure, shapes, sizes in work:
        for shape in shapes:
            row = {"op": name, **dict(zip(sizes, shape))}
            try:
                row |= measure(clock, *shape)
            except (RuntimeError, AttributeError) as error:  # what this release or GPU has not
                row["error"] = str(error)[:200]
            rows.append(rounded(row))
            print(json.dumps(rows[-1]), file=sys.stderr)
    result = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}
    text = json.dumps(result, indent=1) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def rounded(value):
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list) else value
