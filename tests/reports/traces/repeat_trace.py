#!/usr/bin/env python3
"""repeat_trace.py CUT TIMES TRACE: a step of cut_trace.py so many times, one behind the other, as a long
recording has it: what it costs to read one."""

import gzip
import json
import sys

NUMBERS = ("External id", "correlation", "Sequence number")


def of_step(event, number, length, count):
    out = {**event, "ts": event["ts"] + number * length, "args": dict(event.get("args", {}))}
    for key in NUMBERS:
        if key in out["args"]:
            out["args"][key] += number * count
    if event.get("cat") == "user_annotation":
        out["name"] = f"ProfilerStep#{number}"
    return out


def main():
    cut, times, trace = sys.argv[1:]
    with gzip.open(cut, "rt", encoding="utf-8") as file:
        document = json.load(file)
    events = document.pop("traceEvents")
    length = max(e["ts"] + e.get("dur", 0) for e in events)
    count = 1 + max(e.get("args", {}).get(key, 0) for e in events for key in NUMBERS)
    with open(trace, "w", encoding="utf-8") as file:
        file.write(json.dumps(document)[:-1] + ', "traceEvents": [\n')
        for number in range(int(times)):
            for i, event in enumerate(events):
                file.write(",\n" if number + i else "")
                json.dump(of_step(event, number, length, count), file)
        file.write("\n]}\n")


if __name__ == "__main__":
    main()
