"""reports/published/accuracy.py: what it writes and leaves alone, what misses an aim, what counts."""

import json
import sys
import unittest

from plait_command import SOURCE

sys.path.insert(0, str(SOURCE / "reports" / "published"))
import accuracy  # noqa: E402  pylint: disable=wrong-import-position
import bands  # noqa: E402  pylint: disable=wrong-import-position

TINY_MODELS = "megatron_lm_ci_golden"
KEYS = [s.key for s in accuracy.STATISTICS]


def summary(**values):
    return {**dict.fromkeys(KEYS), "not_represented": 0, **values}


def record(file, error, band=0.3):
    return {"id": f"{file}#{error}", "file": file, "error": error, "provenance": {"band": band}}


def answer(*records, not_represented=()):
    files = {r["file"]: None for r in records}
    return {"version": "1", "summary": summary(), "records": list(records),
            "files": [{"file": f, "summary": summary()} for f in files],
            "not_represented": list(not_represented)}


class Pages(unittest.TestCase):
    def test_only_what_is_between_markers_is_replaced(self):
        text = "by hand\n<!-- a -->\nold\n<!-- /a -->\nmore by hand <!-- b --><!-- /b -->\n"
        once = accuracy.replace_between(text, "a", "new")
        self.assertEqual(once, "by hand\n<!-- a -->\n\nnew\n\n<!-- /a -->\n"
                               "more by hand <!-- b --><!-- /b -->\n")
        self.assertEqual(accuracy.replace_between(once, "a", "new"), once)

    def test_a_missing_marker_is_an_error(self):
        for text in ("", "<!-- a -->", "<!-- /a --> <!-- a -->"):
            with self.assertRaises(ValueError):
                accuracy.replace_between(text, "a", "new")

    def test_committed_pages_show_the_committed_numbers(self):
        result = json.loads(accuracy.NUMBERS.read_text(encoding="utf-8"))
        for path, text in accuracy.pages(result).items():
            self.assertEqual(path.read_text(encoding="utf-8"), text, path)


class Bands(unittest.TestCase):
    def test_a_run_is_inside_up_to_the_squares_of_both_parts(self):
        runs = bands.runs_of([record("a", 0.5, 0.5), record("a", 0.51, 0.5), record("a", None)], 0.3)
        self.assertAlmostEqual(runs["a"][0][1], 0.4)
        self.assertEqual(bands.share_inside(runs["a"], 0.301), 0.5)
        self.assertEqual(bands.share_inside(runs["a"], 0), 0)

    def test_each_source_counts_once(self):
        many, few = [(0, 0)] * 8, [(9, 0)]
        self.assertEqual(bands.mean_share([many, few], 0.1), 0.5)

    def test_the_estimate_is_the_least_width_that_suffices(self):
        runs = [(k / 100, 0.0) for k in range(100)]  # 80 % are at most 0.79
        term = bands.estimate([runs])
        self.assertGreaterEqual(bands.share_inside(runs, term), bands.AIM)
        self.assertLess(bands.share_inside(runs, term - bands.STEP), bands.AIM)
        self.assertEqual(bands.estimate([]), 0)

    def test_each_source_is_in_one_half(self):
        judged = bands.judged([record(name, 0.1) for name in "abcdefgh"])
        self.assertEqual(sorted(judged["estimated from"]["files"] + judged["judged on"]["files"]),
                         list("abcdefgh"))
        steps = judged["committed"] / bands.STEP
        self.assertAlmostEqual(steps, round(steps))


class Statistics(unittest.TestCase):
    def cell(self, file, key, value):
        statistic = next(s for s in accuracy.STATISTICS if s.key == key)
        return accuracy.cell(file, summary(**{key: value}), statistic)

    def test_what_misses_its_aim_is_bold(self):
        self.assertEqual(self.cell("other", "mape", 0.08), "8.0")
        self.assertEqual(self.cell("megatron_sc21_a100", "mape", 0.08), "**8.0**")
        self.assertEqual(self.cell("other", "bias", -0.02), "-2.0")
        self.assertEqual(self.cell("other", "bias", -0.04), "**-4.0**")
        self.assertEqual(self.cell("other", "kendall_tau", 0.9), "0.90")
        self.assertEqual(self.cell("other", "kendall_tau", 0.8), "**0.80**")
        self.assertEqual(self.cell("other", "p90_ape", 0.8), "80.0")
        self.assertEqual(self.cell("other", "mape", None), "–")

    def test_times_of_tiny_models_do_not_count_but_their_memory(self):
        self.assertEqual(self.cell(TINY_MODELS, "mape", 0.8), "–")
        self.assertEqual(self.cell(TINY_MODELS, "memory_median_ape", 0.06), "**6.0**")

    def test_each_source_with_a_number_is_met_or_missed(self):
        files = [{"file": "good", "summary": summary(mape=0.01)},
                 {"file": "bad", "summary": summary(mape=0.2)},
                 {"file": "silent", "summary": summary()}]
        rows = accuracy.aims_table({"files": files}).splitlines()
        row = next(r for r in rows if "other sources" in r)
        self.assertTrue(row.endswith("| good 1.0 | bad 20.0 |"), row)

    def test_reasons_that_differ_in_numbers_are_one(self):
        def left_out(reason):
            return {"file": "f", "id": "", "reason": reason}
        found = accuracy.grouped_reasons([left_out("S030: 75 layers on 2"), left_out("4-bit"),
                                          left_out("S030: 75 layers on 12"), left_out("4-bit")])
        self.assertEqual([(r["reason"], r["records"]) for r in found],
                         [("4-bit", 2), ("S030: N layers on N", 2)])

    def test_the_worst_are_those_furthest_off_either_way(self):
        timed = answer(record("a", 0.1), record("a", -0.5), record("b", 0.3), record("b", None))
        result = accuracy.condensed(timed, answer(record(TINY_MODELS, -0.9)))
        self.assertEqual([r["error"] for r in result["worst"]], [-0.5, 0.3, 0.1])
        self.assertEqual([r["error"] for r in result["worst_of_each"]], [-0.5, 0.3])
        self.assertEqual([(e["file"], e["predicted"]) for e in result["files"]],
                         [("a", 2), ("b", 2), (TINY_MODELS, 1)])


if __name__ == "__main__":
    unittest.main()
