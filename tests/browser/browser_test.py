#!/usr/bin/env python3
"""The HTML pages in a real browser: each kind is loaded from disk and used. Exit code 77 (skipped)
where Chromium or its driver is not installed."""

import sys
import tempfile
import unittest
from pathlib import Path

from browser import KEYS, Browser, installed
from every_page import DOCUMENT, EveryPage
from numbers_on_page import FORMATS
from pages import COMMANDS, make_page
from unlike_ranks import UnlikeRanks

# Zooms in and out, one frame after the other; the time that each drawing took.
DRAWING_TIMES = """
const done = arguments[0], canvas = document.querySelector('#timeline-canvas'), times = [];
const frame = () => {
  times.push(Number(canvas.dataset.drawMs));
  const key = times.length % 2 ? 'ArrowUp' : 'ArrowDown';
  canvas.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  if (times.length < 90) requestAnimationFrame(frame); else done(times.sort((a, b) => a - b));
};
requestAnimationFrame(frame);"""
FRAME_MS = 1000 / 60


class Pages(EveryPage, UnlikeRanks, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.browser = cls.enterClassContext(Browser())
        cls.printed = {}
        for name in COMMANDS:
            _, cls.printed[name] = make_page(name, cls.folder)

    def center(self, selector):
        self.browser.run("document.querySelector(arguments[0]).scrollIntoView("
                         "{block: 'center', behavior: 'instant'})", selector)
        return self.browser.run("const b = document.querySelector(arguments[0])"
                                ".getBoundingClientRect(); return [b.x + b.width / 2, "
                                "b.y + b.height / 2, b.width, b.height]", selector)

    # ---- the timeline

    def test_the_timeline_is_a_table_too(self):
        self.load("run")
        self.browser.run("document.querySelector('#timeline details').open = true")
        self.frame()
        rows = self.browser.run("return document.querySelectorAll('#timeline details tbody tr').length")
        self.assertGreater(rows, 10)

    def view(self):
        return self.browser.run("const d = document.querySelector('#timeline-canvas').dataset; "
                                "return [Number(d.from), Number(d.to)]")

    def test_the_timeline_zooms_and_pans_by_keyboard(self):
        self.load("run")
        whole = self.view()
        self.browser.run("document.querySelector('#timeline-canvas').focus()")
        self.browser.keys("++")
        self.frame()
        near = self.view()
        self.assertLess(near[1] - near[0], 0.5 * whole[1])
        self.browser.keys(KEYS["right"])
        self.frame()
        moved = self.view()
        self.assertGreater(moved[0], near[0])
        self.assertAlmostEqual(moved[1] - moved[0], near[1] - near[0], delta=1)
        self.browser.keys(KEYS["home"])
        self.frame()
        self.assertEqual(self.view(), whole)

    def test_the_timeline_zooms_and_pans_by_mouse_and_lets_the_page_scroll(self):
        self.load("run")
        x, y, _, _ = self.center("#timeline-canvas")
        whole = self.view()
        self.browser.wheel(x, y, -120)
        self.frame()
        self.assertEqual(self.view(), whole, "without the focus the wheel is the page's")
        x, y, _, _ = self.center("#timeline-canvas")
        self.browser.mouse(("move", x, y), ("down",), ("up",))
        self.browser.wheel(x, y, -600)
        self.frame()
        near = self.view()
        self.assertLess(near[1] - near[0], 0.5 * whole[1])
        self.browser.mouse(("move", x, y), ("down",), ("move", x - 100, y), ("up",))
        self.frame()
        self.assertGreater(self.view()[0], near[0])

    def test_the_timeline_says_what_is_under_the_pointer(self):
        self.load("run")
        x, y, _, height = self.center("#timeline-canvas")
        top = y - height / 2
        tip = ""
        for lane in range(8):  # below the axis and the first heading, until one is not idle
            self.browser.mouse(("move", x, top + 24 + 20 + 18 * lane + 6))
            tip = tip or self.browser.run("const t = document.querySelector('#tip'); "
                                          "return t.hidden ? '' : t.textContent")
        self.assertIn("rank 0", tip)
        self.assertIn("layer", tip)

    def test_the_stage_of_a_trace_is_the_only_one_and_its_calls_are_whole(self):
        self.load("profile")
        text = self.browser.run("return document.querySelector('#timeline').textContent")
        self.assertIn("1 of 2 stages, ", text)
        self.assertNotIn("among them", text)
        calls = self.browser.run("return [...document.querySelectorAll('[data-format=calls]')]"
                                 ".map(e => e.textContent)")
        self.assertIn("16", calls)

    def test_stages_that_are_left_out_are_counted_for_each_candidate(self):
        self.load("compare-stages")
        timelines, = self.browser.run(f"return [{DOCUMENT}.timelines.map(t => [t.label, "
                                      "t.tracks.length, t.stages])]")
        text = self.browser.run("return document.querySelector('#timeline').textContent")
        self.assertTrue(any(shown < stages for _, shown, stages in timelines))
        for label, shown, stages in timelines:
            said = f"{shown} of {stages} stages of {label}"
            (self.assertIn if shown < stages else self.assertNotIn)(said, text)

    def test_search_counts_the_ops_that_the_document_has(self):
        self.load("run")
        self.browser.type("#timeline-search", "adam")
        self.frame()
        found = self.browser.run("return document.querySelector('#timeline-found').textContent")
        tracks, = self.browser.run(f"return {DOCUMENT}.timelines.map(t => [t.tracks.length, "
                                   "t.blocks, t.calls])")
        calls = next(iter(tracks[2].values()))
        of_block = [sum("adam" in " ".join([op[0], op[1], op[2], op[4], b["name"]]).lower()
                        for op in b["ops"]) for b in tracks[1]]
        expected = tracks[0] * sum(of_block[calls[c]] for c in range(0, len(calls), 4))
        self.assertGreater(expected, 0)
        self.assertEqual(int(found.split()[0].replace(",", "")), expected)
        self.browser.keys(KEYS["enter"])
        readout = self.browser.run("return document.querySelector('#timeline-readout').textContent")
        self.assertIn("adam", readout)

    def test_streams_can_be_hidden(self):
        self.load("run")
        height = "return document.querySelector('#timeline-canvas').clientHeight"
        before = self.browser.run(height)
        self.browser.click("input[data-stream=grad_sync]")
        self.frame()
        self.assertLess(self.browser.run(height), before)

    def test_measured_stands_above_simulated(self):
        self.load("realrun")
        labels = self.browser.run(f"return {DOCUMENT}.timelines.map(t => t.label)")
        self.assertEqual(labels, ["measured", "simulated"])

    def test_a_hundred_thousand_spans_are_drawn_within_a_frame(self):
        self.load("run-large")
        spans = self.browser.run(f"return {DOCUMENT}.timelines[0].tracks"
                                 ".reduce((n, t) => n + t.gaps_ns.length, 0)")
        times = self.browser.run_async(DRAWING_TIMES)
        print(f"\n{spans} spans: median {times[len(times) // 2]:.1f} ms, "
              f"95 % within {times[len(times) * 95 // 100]:.1f} ms", file=sys.stderr)
        self.assertGreater(spans, 90_000)
        self.assertLess(times[len(times) // 2], FRAME_MS)

    # ---- the other pictures

    def test_memory_reads_out_the_peak_and_follows_the_keys(self):
        self.load("run")
        readout = "return document.querySelector('#memory .readout').textContent"
        at_peak = self.browser.run(readout)
        self.browser.run("document.querySelector('#memory figure svg').focus()")
        self.browser.keys(KEYS["right"] * 3)
        self.assertNotEqual(self.browser.run(readout), at_peak)

    def test_the_line_of_the_capacity_crosses_no_text(self):
        places = """
            const svg = document.querySelector('#memory figure svg');
            const line = svg.querySelector('path[stroke="var(--bad)"]').getBoundingClientRect();
            const texts = [...svg.querySelectorAll('text')].filter(t => /^(peak|capacity) /.test(t.textContent));
            return [line.y, ...texts.map(t => t.getBoundingClientRect()).flatMap(b => [b.top, b.bottom])];"""
        for name in ("run", "run-nearly-full", "run-does-not-fit"):
            with self.subTest(name):
                self.load(name)
                line, *edges = self.browser.run(places)
                self.assertEqual(len(edges), 4)
                for top, bottom in zip(edges[::2], edges[1::2]):
                    self.assertFalse(top + 2 < line < bottom - 2, f"{top} {line} {bottom}")

    def test_a_chosen_rank_says_what_it_holds(self):
        self.load("run")
        self.browser.click("#mesh .grid button[aria-label='Rank 3']")
        self.assertIn("tp", self.browser.run("return document.querySelector('#mesh dl').textContent"))
        pressed = "return document.querySelector('#mesh [aria-pressed=true]').ariaLabel"
        self.assertEqual(self.browser.run(pressed), "Rank 3")
        self.browser.keys(KEYS["right"])
        self.assertEqual(self.browser.run(pressed), "Rank 4")

    def test_what_does_not_fit_says_what_would(self):
        self.load("run-does-not-fit")
        text = self.browser.run("return document.querySelector('#answer').textContent")
        self.assertIn("Does not fit", text)
        self.assertIn("--set", text)

    def test_comparisons_of_trainings_say_what_the_whole_costs(self):
        for name in ("compare-trainings", "whatif-trainings"):
            with self.subTest(name):
                self.load(name)
                heads = self.browser.run("return [...document.querySelectorAll('th[scope=col]')]"
                                         ".map(h => h.textContent)")
                self.assertIn("training", heads)
                self.assertIn("price", heads)

    def test_what_no_small_change_makes_fit_says_so(self):
        self.load("run-never-fits")
        text = self.browser.run("return document.querySelector('#answer').textContent")
        self.assertIn("No small change of the layout makes it fit", text)

    def test_a_long_word_is_not_broken_in_its_tile(self):
        for width in (1440, 1100, 400):
            self.load("run-large", width=width)
            lines = self.browser.run("""
                const bound = document.querySelector('#answer .tile [data-path$="/bound_by"]');
                bound.textContent = 'communication over ep';
                const word = document.createRange();
                word.setStart(bound.firstChild, 0);
                word.setEnd(bound.firstChild, 'communication'.length);
                return word.getClientRects().length;""")
            self.assertEqual(lines, 1, width)

    def test_a_search_of_machines_says_what_they_cost(self):
        self.load("search-machines")
        heads = self.browser.run("return [...document.querySelectorAll('#layouts th[scope=col]')]"
                                 ".map(h => h.textContent)")
        for head in ("GPUs", "days", "price", "kWh for 1e9 tokens"):
            self.assertIn(head, heads)
        tiles = self.browser.run("return document.querySelector('#answer .tiles').textContent")
        self.assertIn("The whole training", tiles)
        self.load("search")
        heads = self.browser.run("return [...document.querySelectorAll('#layouts th[scope=col]')]"
                                 ".map(h => h.textContent)")
        self.assertNotIn("price", heads)

    def test_what_fits_says_which_changes_of_the_layout_help(self):
        self.load("run")
        changes = self.browser.run(f"return {DOCUMENT}.changes_that_help.best")
        shown = self.browser.run("return [...document.querySelectorAll('#answer ol li code')]"
                                 ".map(c => c.textContent)")
        self.assertGreater(len(changes), 0)
        self.assertEqual(shown, [" ".join(f"--set {f}={v}" for f, v in c["set"].items())
                                 for c in changes])

    def test_links_are_coloured_by_how_busy_they_are(self):
        self.load("run")
        used = self.browser.run(f"return {DOCUMENT}.link_use")
        self.assertGreater(len(used), 1)
        tones = {}
        for use in used:
            tones[use["link"]] = self.browser.run(
                "return [...new Set([...document.querySelectorAll('#machine svg .' + arguments[0])]"
                ".map(l => l.getAttribute('stroke')))]", use["link"])
            self.assertEqual(len(tones[use["link"]]), 1, use["link"])
        busiest = max(used, key=lambda u: u["utilisation"])
        idlest = min(used, key=lambda u: u["utilisation"])
        self.assertNotEqual(tones[busiest["link"]], tones[idlest["link"]])

    def test_steps_of_different_batches_are_ranked_by_their_tokens(self):
        self.load("compare-batches")
        planned = [c for c in self.printed["compare-batches"]["candidates"] if c["planned"]]
        best = max(planned, key=lambda c: c["report"]["tokens_per_s_per_gpu"])
        soonest = min(planned, key=lambda c: c["report"]["step_time_s"])
        self.assertNotEqual(best["label"], soonest["label"])
        text = self.browser.run("return document.querySelector('#answer .verdict').textContent")
        self.assertTrue(text.startswith(best["label"]), text)
        self.assertIn("different numbers of tokens", text)

    def test_an_error_spans_the_columns_of_its_row(self):
        self.load("compare-batches")
        cells, heads = self.browser.run(
            "const row = [...document.querySelectorAll('#candidates tbody tr')].at(-1);"
            "return [[...row.cells].map(c => c.colSpan), row.closest('table').tHead.rows[0].cells.length]")
        self.assertEqual(len(cells), 2)
        self.assertEqual(sum(cells), heads)

    def test_with_objectives_the_best_server_has_the_highest_goodput(self):
        self.load("serve-compare-objectives")
        served = [c for c in self.printed["serve-compare-objectives"]["candidates"]
                  if c["report"] and "service" in c["report"]]
        slo = lambda c: c["report"]["service"]["slo"]
        met = [c for c in served if slo(c)["attained"]]
        best = max(met or served, key=lambda c: slo(c)["goodput_requests_per_s_per_device"])
        text = self.browser.run("return document.querySelector('#answer .verdict').textContent")
        self.assertIn(best["label"], text)
        self.assertIn("goodput", text)

    def test_the_rank_of_a_memory_curve_is_named(self):
        self.load("run-large")
        memory = self.printed["run-large"]["memory"]
        caption = self.browser.run("return document.querySelector('#memory figcaption').textContent")
        self.assertIn(f"stage {memory['stage']}", caption)
        self.assertIn("the fullest stage", caption)

    def test_bars_that_are_compared_have_their_parts_in_one_order(self):
        self.load("compare")
        bars = self.browser.run("return [...document.querySelectorAll("
                                "'#candidates svg[viewBox=\"0 0 1000 10\"]')].map("
                                "s => [...s.querySelectorAll('rect')].map(r => r.getAttribute('fill')))")
        self.assertEqual(len(bars), 3)
        longest = max(bars, key=len)
        for bar in bars:
            self.assertEqual(bar, [c for c in longest if c in bar])

    def test_compared_memories_are_drawn_with_their_peaks(self):
        for name in ("compare", "compare-pages"):
            with self.subTest(name):
                self.load(name)
                candidates = self.printed[name]["candidates"]
                marks = self.browser.run("return [...document.querySelectorAll('#memory .mark')]"
                                         ".map(m => m.ariaLabel)")
                self.assertEqual(len(marks), len(candidates))
                for mark, c in zip(marks, candidates):
                    peak = FORMATS["bytes"](c["report"]["memory"]["peak_memory_bytes"])
                    self.assertTrue(mark.startswith(f"{c['label']}, peak {peak}"), mark)

    def test_without_a_front_the_best_are_drawn_and_the_way_to_it_is_told(self):
        self.load("search-best")
        found = self.printed["search-best"]
        marks = self.browser.run("return document.querySelectorAll('#layouts .mark').length")
        self.assertEqual(marks, len(found["best"]) + 2)  # as written, rule of thumb
        self.assertIn("--front", self.browser.run("return document.querySelector('#layouts').textContent"))

    def test_search_filters_marks_and_rows(self):
        self.load("search")
        marks = "return document.querySelectorAll('#layouts .mark').length"
        rows = "return document.querySelectorAll('#layouts tbody tr').length"
        before = self.browser.run(marks)
        self.assertEqual(before, self.browser.run(rows))
        self.browser.run("const s = document.querySelector('#layouts select'); s.value = 'best'; "
                         "s.dispatchEvent(new Event('change'))")
        best = len(self.printed["search"]["best"])
        self.assertLess(best, before)
        self.assertEqual((self.browser.run(marks), self.browser.run(rows)), (best, best))

    def test_marks_explain_themselves_to_pointer_and_focus(self):
        for name, section in (("whatif", "#curves"), ("search", "#layouts"), ("realrun", "#steps"),
                              ("compare", "#memory"), ("serve-compare", "#engines")):
            with self.subTest(name):
                self.load(name)
                self.browser.run(f"document.querySelector('{section} .mark').focus()")
                tip = self.browser.run("const t = document.querySelector('#tip'); "
                                       "return t.hidden ? '' : t.textContent")
                self.assertNotEqual(tip, "")
                self.browser.keys(KEYS["escape"])
                self.assertTrue(self.browser.run("return document.querySelector('#tip').hidden"))

    def test_validation_filters_runs(self):
        self.load("validate")
        self.browser.type("#record-search", "made_up#2")
        self.assertEqual(self.browser.run("return document.querySelectorAll('#scatter .mark').length"), 1)

    def test_latencies_are_shown_by_measure_and_kind(self):
        self.load("serve")
        curves = "return [...document.querySelectorAll('#latency figure path[fill=none]')].map(p => p.getAttribute('d'))"
        first = self.browser.run(curves)
        self.assertEqual(len(first), len(self.printed["serve"]["service"]["kinds"]))
        self.browser.run("const s = document.querySelector('#latency select'); s.value = 'tpot'; "
                         "s.dispatchEvent(new Event('change'))")
        self.assertNotEqual(self.browser.run(curves), first)

    def test_requests_over_time_are_those_that_were_asked(self):
        self.load("serve")
        asked = self.browser.run(f"const q = {DOCUMENT}.requests; return [q.of, q.arrival_s.length, "
                                 "q.output_tokens.reduce((a, b) => a + b, 0), Math.max(...q.finish_s)]")
        service = self.printed["serve"]["service"]
        self.assertEqual(asked[:3], [service["all"]["requests"]] * 2 + [service["all"]["output_tokens"]])
        self.assertAlmostEqual(asked[3], service["makespan_s"], places=5)
        self.assertEqual(self.browser.run("return document.querySelectorAll('#course svg[role=img]').length"), 2)

    def test_pages_that_are_compared_bring_their_timelines(self):
        self.load("compare-pages")
        labels = self.browser.run(f"return {DOCUMENT}.timelines.map(t => t.label)")
        self.assertEqual(labels, ["run", "run-flow"])
        steps = [c["report"]["step_time_s"] for c in self.printed["compare-pages"]["candidates"]]
        self.assertEqual(steps, [self.printed["run"]["step_time_s"], self.printed["run-flow"]["step_time_s"]])


if __name__ == "__main__":
    if not installed():
        print("SKIPPED: install chromium and chromium-driver to test pages", file=sys.stderr)
        sys.exit(77)
    unittest.main()
