"""Traces that Perfetto can show: slices nest, flows have two ends, names are few."""

import collections
import json
import signal
import subprocess
import unittest

from live_run import HANGS_S, until
from plait_command import PLAIT, SCENARIOS, TINY, CommandTest, plait

FEW_NAMES = 40  # slices are coloured by name


class Trace(CommandTest):
    def trace_of(self, scenario):
        path = self.folder / "trace.json"
        report = self.run_ok("run", scenario, "--trace", path, "--format", "json").json()
        return report, json.loads(path.read_text(encoding="utf-8"))["traceEvents"]

    def test_traces_of_small_scenarios(self):
        # The largest pipelines make gigabytes of trace; every strategy is in one of these.
        small = [s for s in SCENARIOS if s.parent.name in ("tiny", "side-by-side", "mistral")]
        self.assertGreaterEqual(len(small), 5)
        for scenario in [TINY, *small]:
            with self.subTest(scenario.stem):
                report, events = self.trace_of(scenario)
                self.check(report, events)

    def test_what_comes_and_goes_beside_tensors_is_counted_where_it_is(self):
        # The loss' copies, and what autograd keeps of eager chains: neither is always there.
        for stem in ("deepspeed-zero-3", "fsdp-full-shard", "llama-3.1-8b-1xh100-lora"):
            with self.subTest(stem):
                report, events = self.trace_of(next(s for s in SCENARIOS if s.stem == stem))
                self.check_memory(report, [e for e in events if e["ph"] == "C"])

    def test_ranks_to_trace_need_a_trace_and_to_be_there(self):
        refused = plait("run", TINY, "--trace-ranks", "0")
        self.assertEqual(refused.code, 2)
        self.assertIn("--trace", refused.err)
        path = self.folder / "trace.json"
        refused = plait("run", TINY, "--trace", path, "--unfold", "--trace-ranks", "99").err
        self.assertIn("there is no rank 99", refused)
        self.assertNotIn("--unfold", refused.split("there is")[1])

    def test_a_trace_that_is_interrupted_leaves_nothing_behind(self):
        large = next(s for s in SCENARIOS if s.stem == "llama-3.1-405b-16384xh100")
        many = ["--set", "workload.global_batch=32768"]  # 400 MB
        for number in (signal.SIGINT, signal.SIGTERM):
            run = subprocess.Popen([PLAIT, "run", large, *many, "--trace", self.folder / "large.json"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            until(lambda: any(self.folder.glob("*.part")) or run.poll() is not None, "a trace")
            run.send_signal(number)
            _, warned = run.communicate(timeout=HANGS_S)
            self.assertEqual(run.returncode, -number)
            self.assertEqual(list(self.folder.iterdir()), [])
            self.assertIn("W012", warned)
            self.assertIn("interrupted: predicting", warned)

    def test_with_a_timeline_a_report_says_the_same(self):
        # Told from few of its 256 microbatches, and simulated whole.
        many = ["--set", "workload.global_batch=256"]
        scenario = next(s for s in SCENARIOS if s.stem == "gpt3-175b-64xa100")
        reports = [self.run_ok("run", scenario, *many, *more, "--format", "json").json()
                   for more in ([], ["--trace", self.folder / "trace.json", "--trace-ranks", "0"])]
        for report in reports:
            del report["run"]
        self.assertEqual(*reports)

    def check(self, report, events):
        by_phase = collections.defaultdict(list)
        for event in events:
            by_phase[event["ph"]].append(event)
        self.check_slices(by_phase["X"], report["step_time_s"])
        self.check_memory(report, by_phase["C"])
        self.assertTrue(by_phase["M"], "names of processes and threads")
        starts = sorted(e["id"] for e in by_phase["s"])
        ends = sorted(e["id"] for e in by_phase["f"])
        self.assertEqual(starts, ends)
        self.assertEqual(len(starts), len(set(starts)))

    def check_memory(self, report, counters):
        most = collections.defaultdict(int)
        for event in counters:
            most[event["pid"]] = max(most[event["pid"]], sum(event["args"].values()))
            self.assertGreaterEqual(min(event["args"].values()), 0)
        # One rank of each stage is shown, in their order.
        self.assertEqual([most[pid] for pid in sorted(most)],
                         [int(b) for b in report["memory"]["stage_peak_bytes"]])

    def check_slices(self, slices, step_time_s):
        self.assertTrue(slices)
        self.assertLessEqual(len({s["name"] for s in slices}), FEW_NAMES)
        tracks = collections.defaultdict(list)
        for s in slices:
            tracks[s["pid"], s["tid"]].append((s["ts"], s["ts"] + s["dur"]))
        tolerance_us = 1e-3  # times are printed to the nanosecond
        last = 0
        for track in tracks.values():
            track.sort()
            last = max(last, track[-1][1])
            for (_, end), (start, _) in zip(track, track[1:]):
                self.assertGreaterEqual(start, end - tolerance_us)
        self.assertAlmostEqual(last, step_time_s * 1e6, delta=1.1 * tolerance_us)


if __name__ == "__main__":
    unittest.main()
