"""How wide the band of a prediction must be for what a framework does and no plan has: estimated
from half of the sources, chosen by a hash of their names, and judged on the other half."""

import math
import re
import zlib
from pathlib import Path

PROVENANCE = Path(__file__).resolve().parent.parent.parent / "prediction" / "provenance.cpp"
AIM = 0.8  # share of runs that the band is to hold
STEP = 0.025  # eight sources say no more
# Their authors warn of errors of 40 % of their own.
UNSURE = {"bigscience_v100_jeanzay"}


def committed():
    """The term in the bands of the predictions, which add it in squares."""
    text = PROVENANCE.read_text(encoding="utf-8")
    return float(re.search(r"kBetweenFrameworks = ([0-9.]+);", text)[1])


def is_estimated_from(file):
    return zlib.crc32(file.encode()) % 2 == 0


def runs_of(records, present):
    """By source, of each run: the size of its error as a logarithm, and its band without the term."""
    out = {}
    for r in records:
        if r["error"] is None or r["file"] in UNSURE:
            continue
        other = math.sqrt(max(r["provenance"]["band"] ** 2 - present ** 2, 0))
        out.setdefault(r["file"], []).append((abs(math.log1p(r["error"])), other))
    return out


def share_inside(runs, term):
    inside = sum(error <= math.log1p(math.hypot(other, term)) for error, other in runs)
    return inside / len(runs)


def mean_share(sources, term):
    """Each source counts once, however many runs it has."""
    return sum(share_inside(runs, term) for runs in sources) / len(sources)


def estimate(sources):
    """The least term, in steps, with which the sources have the aimed share inside on average."""
    term = 0.0
    while sources and mean_share(sources, term) < AIM:
        term += STEP
    return round(term, 3)


def judged(records):
    """Both halves with the committed term, and the term that the first half asks for."""
    term = committed()
    sources = runs_of(records, term)
    halves = {"estimated from": [f for f in sources if is_estimated_from(f)],
              "judged on": [f for f in sources if not is_estimated_from(f)]}
    out = {"committed": term, "estimate": estimate([sources[f] for f in halves["estimated from"]])}
    for half, files in halves.items():
        runs = [sources[f] for f in files]
        out[half] = {"files": sorted(files), "runs": sum(map(len, runs)),
                     "share_by_source": mean_share(runs, term) if runs else None,
                     "share_of_runs": share_inside(sum(runs, []), term) if runs else None}
    return out
