#!/usr/bin/env python3
"""Draws the phases of a Chrome trace (plait run --trace) as one row per rank, in SVG.

usage: plait run SCENARIO --trace t.json && timeline.py t.json > timeline.svg
"""

import json
import sys

WIDTH, LEFT, TOP, ROW, GAP = 960, 92, 34, 22, 5
# Blue, orange, green, grey: told apart by colour-blind eyes (Okabe and Ito 2008).
COLOURS = {"fwd": "#56B4E9", "bwd": "#E69F00", "optim": "#009E73"}
LEGEND = [("forward", "fwd"), ("backward", "bwd"), ("optimizer", "optim")]


def merged(spans):
    """Neighbouring calls of one microbatch and phase become one rectangle."""
    out = []
    for s in sorted(spans, key=lambda s: s["ts"]):
        name = {"wgrad": "bwd"}.get(s["name"], s["name"])
        key = (name, s["args"].get("microbatch"), s["args"].get("chunk"))
        begin, end = s["ts"], s["ts"] + s["dur"]
        if out and out[-1][0] == key and begin - out[-1][2] < 0.2 * (out[-1][2] - out[-1][1]):
            out[-1][2] = end
        else:
            out.append([key, begin, end])
    return out


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    phase = {(e["pid"], e["tid"]) for e in events
             if e["name"] == "thread_name" and e["args"]["name"] == "phase"}
    spans = [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) in phase]
    end = max(e["ts"] + e["dur"] for e in spans)
    scale = (WIDTH - LEFT - 28) / end
    height = TOP + len(names) * (ROW + GAP) + 30
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
          f'font-family="system-ui, sans-serif" font-size="12">')
    print(f'<title>One training step, simulated: {len(names)} pipeline stages</title>')
    print(f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>')
    for i, (text, key) in enumerate(LEGEND):
        x = LEFT + 110 * i
        print(f'<rect x="{x}" y="10" width="14" height="14" fill="{COLOURS[key]}"/>'
              f'<text x="{x + 20}" y="21" fill="#222222">{text}</text>')
    print(f'<text x="{WIDTH - 28}" y="21" text-anchor="end" fill="#222222">grey: waiting</text>')
    for row, pid in enumerate(sorted(names)):
        y = TOP + row * (ROW + GAP)
        print(f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end" fill="#222222">stage {row}</text>')
        print(f'<rect x="{LEFT}" y="{y}" width="{end * scale:.1f}" height="{ROW}" fill="#f2f2f2"/>')
        for key, begin, stop in merged([s for s in spans if s["pid"] == pid]):
            colour = COLOURS.get(key[0])
            if colour is None:
                continue
            x, width = LEFT + begin * scale, (stop - begin) * scale
            print(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW}" fill="{colour}" '
                  f'stroke="#ffffff" stroke-width="0.6"/>')
            if width > 13 and key[0] in ("fwd", "bwd"):
                print(f'<text x="{x + width / 2:.1f}" y="{y + 15}" text-anchor="middle" '
                      f'fill="#222222" font-size="10">{key[1]}</text>')
    y = TOP + len(names) * (ROW + GAP) + 14
    for k in range(6):
        x = LEFT + end * scale * k / 5
        print(f'<text x="{x:.1f}" y="{y}" text-anchor="middle" fill="#222222">{end * k / 5000:.0f} ms</text>')
    print("</svg>")


if __name__ == "__main__":
    main()
