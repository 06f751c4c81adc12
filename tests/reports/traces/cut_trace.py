#!/usr/bin/env python3
"""cut_trace.py TRACE STEP CUT: one step of what torch.profiler wrote, with what `plait profile` reads.

Kept, as they were recorded: kernels and memsets of the step, their launches, the step's annotation,
and of the operators those that launched a kernel, what these are within, and of nodes of autograd what
ran forward. Of their arguments and of the machine only what is read. Times and numbers
begin anew."""

import gzip
import json
import sys

ARGUMENTS = ("External id", "correlation", "device", "Sequence number", "Fwd thread id")
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCHES = ("cuda_runtime", "cuda_driver")


def category(event):
    return event.get("cat", "") if event.get("ph") == "X" else ""


def within_step(events, name):
    step = next(e for e in events if category(e) == "user_annotation" and e["name"] == name)
    begin, end = step["ts"], step["ts"] + step["dur"]
    host = [e for e in events if category(e) in ("cpu_op", *LAUNCHES) and begin <= e["ts"] < end]
    launched = {e["args"]["correlation"] for e in host if category(e) in LAUNCHES}
    device = [e for e in events if category(e) in ON_DEVICE
              and e["args"].get("correlation") in launched]
    return step, host, device


def with_what_is_around(operators, wanted):
    """Those that are wanted, and the operators that they are within."""
    kept, threads = set(), {}
    for e in operators:
        around = threads.setdefault(e["tid"], [])
        while around and around[-1]["ts"] + around[-1]["dur"] <= e["ts"]:
            around.pop()
        around.append(e)
        if wanted(e):
            kept.update(id(o) for o in around)
    return [e for e in operators if id(e) in kept]


def operators_kept(operators, launching):
    """Those around a launch, and of the nodes among them what ran forward."""
    def launches(e):
        return e["args"].get("External id") in launching

    def number(e):
        return e["args"].get("Sequence number", -1)

    nodes = [e for e in with_what_is_around(operators, launches) if e["args"].get("Fwd thread id")]
    numbers = {number(e) for e in nodes} - {-1}
    return with_what_is_around(operators, lambda e: launches(e) or (
        number(e) in numbers and not e["args"].get("Fwd thread id")))


def numbered(events, key, since=0):
    """Numbers as small as they can be: the file is a part of the repository."""
    values = sorted({e["args"][key] for e in events if key in e["args"]})
    numbers = {value: since + n for n, value in enumerate(values)}
    for e in events:
        if key in e["args"]:
            e["args"][key] = numbers[e["args"][key]]


def slim(event, since):
    """Times on the host to a tenth of a microsecond, which keeps what is within what."""
    digits = 3 if category(event) in ON_DEVICE else 1
    begin, end = (round(t - since, digits) for t in (event["ts"], event["ts"] + event["dur"]))
    arguments = {k: event["args"][k] for k in ARGUMENTS if event["args"].get(k)}
    if category(event) in LAUNCHES:
        arguments.pop("External id", None)
    return {"ph": "X", "cat": event["cat"], "name": event["name"], "tid": event["tid"],
            "ts": begin, "dur": round(end - begin, digits), "args": arguments}


def cut(document, name):
    step, host, device = within_step(document["traceEvents"], name)
    launching = {e["args"].get("External id") for e in device}
    used = {e["args"]["correlation"] for e in device}
    launches = [e for e in host if category(e) in LAUNCHES and e["args"]["correlation"] in used]
    operators = operators_kept([e for e in host if category(e) == "cpu_op"], launching)
    kept = [*operators, *launches, *device]
    document["deviceProperties"] = [{k: gpu[k] for k in ("id", "name", "numSms")}
                                    for gpu in document["deviceProperties"]]
    events = [slim(e, step["ts"]) for e in (step, *kept)]
    for key in ("External id", "correlation", "Sequence number"):
        numbered(events, key, since=1)
    document["traceEvents"] = events
    return {k: document[k] for k in ("schemaVersion", "deviceProperties", "traceEvents")}


def main():
    trace, number, path = sys.argv[1:]
    with gzip.open(trace, "rt", encoding="utf-8") as file:
        document = cut(json.load(file), f"ProfilerStep#{number}")
    lines = ",\n".join(json.dumps(e, separators=(",", ":")) for e in document.pop("traceEvents"))
    head = json.dumps(document)[:-1]
    with open(path, "wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as out:
        out.write(f'{head}, "traceEvents": [\n{lines}\n]}}\n'.encode())


if __name__ == "__main__":
    main()
