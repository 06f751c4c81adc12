"""How pages write numbers, told a second time, so that a test can compare."""

import math


def three_digits(v):
    return f"{v:.0f}" if abs(v) >= 99.95 else f"{v:.1f}" if abs(v) >= 9.995 else f"{v:.2f}"


def time(s):
    for least, scale, unit in ((0.9995, 1, "s"), (0.9995e-3, 1e3, "ms"), (0.9995e-6, 1e6, "us")):
        if abs(s) >= least:
            return f"{three_digits(s * scale)} {unit}"
    return "0 s" if s == 0 else f"{three_digits(s * 1e9)} ns"


def duration(s):
    for below, scale, unit in ((7200, 60, "min"), (172800, 3600, "h")):
        if 120 <= s < below:
            return f"{three_digits(s / scale)} {unit}"
    return time(s) if s < 120 else f"{three_digits(s / 86400)} days"


def prefixed(v, least, step, units):
    k = 0
    while abs(v) >= least and k + 1 < len(units):
        v, k = v / step, k + 1
    return v, units[k]


def size(n):
    if abs(n) < 1024:
        return f"{n:.0f} B"
    v, unit = prefixed(n / 1024, 1023.95, 1024, ("KiB", "MiB", "GiB", "TiB", "PiB"))
    return f"{v:.1f} {unit}"


def rate(v):
    v, unit = prefixed(v, 999.5, 1000, ("", " k", " M", " G", " T", " P", " E", " Z"))
    return three_digits(v) + unit


def energy(kwh):
    text = rate(1000 * kwh)
    return text + ("Wh" if text[-1].isalpha() else " Wh")


def bandwidth(v):
    v, unit = prefixed(v, 999.5, 1000, ("B/s", "kB/s", "MB/s", "GB/s", "TB/s"))
    return f"{three_digits(v)} {unit}"


def change(v):
    percent = 0 if abs(v * 100) < 0.05 else v * 100
    return f"{percent:+.1f} %" if percent else "0.0 %"


def calls(v):
    return f"{round(v):,}" if v == int(v) else three_digits(v)


def money(v):
    if abs(v) >= 999.5:
        return f"{round(v):,}"
    return "0" if v == 0 else f"{v:.{3 - math.floor(math.log10(abs(v)))}f}"


FORMATS = {
    "calls": calls,
    "time": time, "duration": duration, "bytes": size, "lack": lambda n: size(-n), "rate": rate, "energy": energy, "bandwidth": bandwidth, "change": change,
    "count": lambda n: f"{n:,}", "percent": lambda v: f"{v * 100:.1f} %",
    "number": three_digits, "money": money, "yes": lambda v: "yes" if v else "no", "text": str,
    # Whole numbers only: how a language writes other doubles is its own affair.
    "exact": str,
}


def at(tree, pointer):
    """The value that an RFC 6901 pointer names."""
    for key in pointer.split("/")[1:]:
        key = key.replace("~1", "/").replace("~0", "~")
        tree = tree[int(key)] if isinstance(tree, list) else tree[key]
    return tree


def written(tree, pointer, form, whole):
    value = at(tree, pointer)
    if form == "share":
        return f"{value / at(tree, whole) * 100:.1f} %"
    if form in ("least", "most"):
        factor = 1 + at(tree, whole)
        return time(value / factor if form == "least" else value * factor)
    return FORMATS[form](value)
