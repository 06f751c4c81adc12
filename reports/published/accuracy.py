#!/usr/bin/env python3
"""How good the predictions of published training runs are: docs/accuracy.md with its figure, the
table of README.md, and the statistics as JSON.

    accuracy.py --data FOLDER [--plait build/plait]

FOLDER holds record files (docs/validate.md). Only what stands between markers, <!-- name --> and
<!-- /name -->, is written anew; the text around it is written by hand and stays."""

import argparse
import collections
import dataclasses
import datetime
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Callable

import bands
from sources import MEGATRON_TABLES, MEMORY_ONLY, SOURCES, TORCH_PEAK

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE, README = ROOT / "docs" / "accuracy.md", ROOT / "README.md"
FIGURE = ROOT / "docs" / "pictures" / "accuracy.svg"
NUMBERS = ROOT / "reports" / "published" / "accuracy.json"
WORST = 20

# --- numbers and tables ---------------------------------------------------------------------------

def percent(value):
    return "–" if value is None else f"{100 * value:.1f}"


def signed(value):
    return "–" if value is None else f"{100 * value:+.1f}"


def count(value):
    return "–" if value is None else f"{value:,}"


def plain(value):
    return "–" if value is None else f"{value:.2f}"


@dataclasses.dataclass
class Statistic:
    title: str
    key: str
    text: Callable = percent


STATISTICS = [
    Statistic("Timed", "n", count),
    Statistic("Mean", "mape"), Statistic("Median", "median_ape"), Statistic("p90", "p90_ape"),
    Statistic("Bias", "bias", signed), Statistic("Repeats", "repeat_ape"),
    Statistic("In band", "in_band"), Statistic("Tau", "kendall_tau", plain),
    Statistic("Top pick", "top1_regret"), Statistic("Fits", "oom_accuracy"),
    Statistic("Memory", "memory_median_ape"),
]
# Judged by times: absent where those do not count.
ABOUT_TIME = {"n", "mape", "median_ape", "p90_ape", "bias", "repeat_ape", "in_band", "kendall_tau",
              "top1_regret"}
README_STATISTICS = [s for s in STATISTICS if s.key not in ("n", "repeat_ape", "in_band")]


@dataclasses.dataclass
class Aim:
    """A limit on a statistic, of the files for which it holds."""
    what: str
    key: str
    limit: float
    holds_for: Callable = lambda file: True
    at_least: bool = False

    def of(self, file):
        return self.holds_for(file) and not (self.key in ABOUT_TIME and file in MEMORY_ONLY)

    def met(self, value):
        return value >= self.limit if self.at_least else abs(value) <= self.limit


AIMS = [
    Aim("mean error at most 5 %, Megatron papers' A100 tables", "mape", 0.05,
        lambda f: f in MEGATRON_TABLES),
    Aim("mean error at most 10 %, other sources", "mape", 0.10, lambda f: f not in MEGATRON_TABLES),
    Aim("bias within 3 %", "bias", 0.03),
    Aim("Kendall tau at least 0.85", "kendall_tau", 0.85, at_least=True),
    Aim("top pick at most 3 % slower than the best", "top1_regret", 0.03),
    Aim("fits or out of memory right for at least 93 %", "oom_accuracy", 0.93, at_least=True),
    Aim("peak memory, median, at most 5 % where torch's max_memory_allocated is published",
        "memory_median_ape", 0.05, lambda f: f in TORCH_PEAK),
    Aim("peak memory, median, at most 10 % elsewhere", "memory_median_ape", 0.10,
        lambda f: f not in TORCH_PEAK),
]


def short_name(file):
    return SOURCES.get(file, (file, "", ""))[0]


def counted(file, summary, key):
    """The statistic of a file, None where it is not published or must not be judged."""
    return None if key in ABOUT_TIME and file in MEMORY_ONLY else summary[key]


def table(head, rows, left=1):
    """A Markdown table whose first `left` columns are text and the others numbers."""
    rule = ["---"] * left + ["--:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, rule, *rows])


def cell(file, summary, statistic):
    """Bold where an aim is missed."""
    value = counted(file, summary, statistic.key)
    text = statistic.text(value)
    missed = value is not None and any(aim.key == statistic.key and aim.of(file)
                                       and not aim.met(value) for aim in AIMS)
    return f"**{text}**" if missed else text


# --- what is written ------------------------------------------------------------------------------

def source_table(result, statistics):
    rows = []
    for entry in result["files"]:
        file, summary = entry["file"], entry["summary"]
        _, what, gpus = SOURCES.get(file, ("", "", ""))
        rows.append([short_name(file), what, gpus, count(entry["predicted"]),
                     count(summary["not_represented"]),
                     *(cell(file, summary, s) for s in statistics)])
    pooled = [e for e in result["files"] if e["file"] not in MEMORY_ONLY]
    rows.append(["All but ‡, pooled", "", "", count(sum(e["predicted"] for e in pooled)),
                 count(result["summary"]["not_represented"]),
                 *(s.text(result["summary"][s.key]) for s in statistics)])
    head = ["Source", "What", "GPUs", "Runs", "Left out", *(s.title for s in statistics)]
    return table(head, rows, left=3)


def aims_table(result):
    rows = []
    for aim in AIMS:
        text = next(s.text for s in STATISTICS if s.key == aim.key)
        met, missed = [], []
        for entry in result["files"]:
            value = entry["summary"][aim.key]
            if aim.of(entry["file"]) and value is not None:
                (met if aim.met(value) else missed).append(
                    f"{short_name(entry['file'])} {text(value)}")
        rows.append([aim.what, ", ".join(met) or "–", ", ".join(missed) or "–"])
    return table(["Aim", "Met", "Missed"], rows, left=3)


def seconds(value):
    return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"


def worst_table(result):
    rows = [[f"`{r['id']}`", r["model"], r["cluster"].split(" (")[0], r["layout"], r["bound_by"],
             seconds(r["measured_s"]), seconds(r["predicted_s"]), signed(r["error"])]
            for r in result["worst_of_each"]]
    return table(["Record", "Model", "GPUs", "Layout", "Bound by", "Measured", "Predicted",
                  "Error, %"], rows, left=5)


def bands_table(result):
    rows = []
    for half in ("estimated from", "judged on"):
        found = result["bands"][half]
        rows.append([f"Half {half}", ", ".join(map(short_name, found["files"])),
                     count(found["runs"]), percent(found["share_by_source"]),
                     percent(found["share_of_runs"])])
    text = (f"Term in the predictions: {percent(result['bands']['committed'])} %; "
            f"the first half asks for {percent(result['bands']['estimate'])} %.")
    return text + "\n\n" + table(["", "Sources", "Runs", "In band, mean of sources",
                                  "In band, of all runs"], rows, left=2)


def left_out_table(result):
    rows = [[short_name(r["file"]), r["reason"].replace("|", "\\|"), r["records"]]
            for r in result["left_out"]]
    return table(["Source", "Reason", "Records"], rows, left=2)


def made_by(result):
    return (f"`./dev accuracy --data FOLDER` on {result['date']}, plait {result['version']}; "
            "FOLDER holds the record files. It runs\n"
            "`plait validate FOLDER/*.json --format json`, with ‡ apart so that it is neither pooled "
            "nor drawn. The numbers: [accuracy.json](../reports/published/accuracy.json).")


def replace_between(text, name, new):
    """The text with what stands between <!-- name --> and <!-- /name --> replaced."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found_start, rest = text.partition(start)
    _, found_end, after = rest.partition(end)
    if not (found_start and found_end):
        raise ValueError(f"there must be {start} and behind it {end}")
    return f"{before}{start}\n\n{new}\n\n{end}{after}"


def pages(result):
    """Both pages, as they are to be, by path."""
    parts = {
        PAGE: {"made by": made_by(result), "aims": aims_table(result),
               "sources": source_table(result, STATISTICS), "worst": worst_table(result),
               "bands": bands_table(result),
               "left out": left_out_table(result)},
        README: {"accuracy": source_table(result, README_STATISTICS)},
    }
    out = {}
    for path, generated in parts.items():
        out[path] = path.read_text(encoding="utf-8")
        for name, new in generated.items():
            out[path] = replace_between(out[path], name, new)
    return out


# --- what is counted ------------------------------------------------------------------------------

def grouped_reasons(left_out):
    """Records by file and reason; reasons that differ in numbers only are one, with N for those."""
    groups = collections.defaultdict(collections.Counter)
    for r in left_out:
        pattern = re.sub(r"\b\d+\b", "N", r["reason"])
        groups[r["file"], pattern][r["reason"]] += 1
    return [{"file": file, "reason": pattern if len(reasons) > 1 else next(iter(reasons)),
             "records": sum(reasons.values())}
            for (file, pattern), reasons in sorted(groups.items())]


def by_error(records):
    """Those with an error that counts, the largest first."""
    judged = [r for r in records if r["error"] is not None and r["file"] not in MEMORY_ONLY]
    return sorted(judged, key=lambda r: (-abs(r["error"]), r["id"]))


def rounded(value):
    """Floating-point numbers to six places: enough for the tables, and to compare two versions."""
    if isinstance(value, dict):
        return {key: rounded(v) for key, v in value.items()}
    return round(value, 6) if isinstance(value, float) else value


def condensed(timed, memory_only):
    """The statistics of both answers of `plait validate`, without most of the records."""
    answers = [timed, memory_only]
    predicted = collections.Counter(r["file"] for a in answers for r in a["records"])
    files = [{**entry, "predicted": predicted[entry["file"]]} for a in answers for entry in a["files"]]
    worst = by_error(timed["records"])
    worst_of_each = {r["file"]: r for r in reversed(worst)}
    return {
        "version": timed["version"],
        "summary": rounded(timed["summary"]),
        "files": [rounded(entry) for entry in files],
        "worst": [rounded(r) for r in worst[:WORST]],
        "worst_of_each": [rounded(r) for r in by_error(worst_of_each.values())],
        "bands": rounded(bands.judged(timed["records"])),
        "left_out": grouped_reasons([r for a in answers for r in a["not_represented"]]),
    }


def validate(plait, files, *options):
    if not files:
        return {"records": [], "files": [], "not_represented": []}
    done = subprocess.run([plait, "validate", *files, "--format", "json", *options],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path, help="folder of the record files")
    parser.add_argument("--plait", default=ROOT / "build" / "plait", help="the command")
    options = parser.parse_args()
    files = sorted(options.data.glob("*.json"))
    timed = [f for f in files if f.stem not in MEMORY_ONLY]
    if not timed:
        parser.error(f"there are no record files, *.json, in {options.data}")
    # One after the other, so that times which do not count are neither pooled nor drawn.
    result = condensed(
        validate(options.plait, timed, "--svg", FIGURE),
        validate(options.plait, [f for f in files if f.stem in MEMORY_ONLY]))
    result = {"date": datetime.date.today().isoformat(), **result}
    NUMBERS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for path, text in pages(result).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
