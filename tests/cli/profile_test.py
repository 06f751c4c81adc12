"""plait profile: a trace as torch.profiler writes it, beside the prediction."""

import csv
import gzip
import io
import json
import resource
import shutil
import subprocess
import sys
import unittest

from kineto_trace import COLLECTIVES, ELEMENTWISE, KERNELS, KinetoTrace, kineto_of
from plait_command import PLAIT, SOURCE, TINY, CommandTest, plait

LLAMA = SOURCE / "scenarios" / "llama"
SYSTEMS = SOURCE / "scenarios" / "systems"
# One step of a GPT-2 in plain PyTorch 2.11 on one H200, as torch.profiler wrote it: bench/gpu/torch_step.py
# of the scenario below, cut by cut_trace.py beside it.
REAL = SOURCE / "tests" / "reports" / "traces" / "gpt2-124m-micro-1.pt.trace.json.gz"
REAL_SCENARIO = [SOURCE / "scenarios" / "gpu-round" / "gpt2-124m-micro-8.json",
                 "--set", "workload.micro_batch=1", "--set", "workload.global_batch=4",
                 "--set", "framework=pytorch"]
LAYERS, MICROBATCHES = 12, 4
# Pipelines, fully sharded over two nodes, tokens and experts shared, state on the host.
OF_PLANS = [
    [TINY],
    [TINY, "--set", "strategy.pp=4", "--set", "strategy.dp=1"],
    [LLAMA / "llama-3.1-8b-16xh100-hybrid.json"],
    [SYSTEMS / "dualpipe-v.json"],
    [SYSTEMS / "megatron-moe-mixtral-8x7b.json"],
    [SYSTEMS / "megatron-lm-context-parallel.json"],
    [SYSTEMS / "deepspeed-ulysses.json"],
    [SYSTEMS / "deepspeed-zero-offload.json", "--set", "workload.flash_attention=true"],
    [TINY, "--set", "strategy.pp=1", "--set", "strategy.zero_stage=1", "--set", "strategy.dp=4"],
]


class Profile(CommandTest):
    def run_of(self, *scenario, **how):
        """Result of plait run, and its timeline as a profiler's trace."""
        timeline = self.folder / "timeline.json"
        result = self.run_ok("run", *scenario, "--trace", timeline, "--format", "json").json()
        events = json.loads(timeline.read_text(encoding="utf-8"))
        return result, kineto_of(events, result, **how)

    def compared(self, trace, *scenario, name="trace.json"):
        path = trace.write(self.folder / name)
        return self.run_ok("profile", scenario[0], path, *scenario[1:], "--format", "json").json()

    def test_of_a_simulated_step_nothing_differs(self):
        for scenario in OF_PLANS:
            with self.subTest(scenario):
                result, trace = self.run_of(*scenario)
                found = self.compared(trace, *scenario)
                step = result["step_time_s"]
                # The trace has whole nanoseconds: an op is off by less than two.
                rounding = 2e-9 * len(trace.document["traceEvents"])
                self.assertEqual(found["predicted_step_time_s"], step)
                self.assertAlmostEqual(found["measured_step_time_s"], step, delta=2e-9)
                self.assertGreater(len(found["shares"]), 5)
                for share in found["shares"]:
                    self.assertAlmostEqual(share["measured_s"], share["predicted_s"], delta=rounding)
                self.assertGreater(len(found["kinds"]), 5)
                for kind in found["kinds"]:
                    self.assertEqual(kind["measured_calls"], kind["predicted_calls"], kind)
                    self.assertAlmostEqual(kind["measured_s"], kind["predicted_s"], delta=rounding)
                for message in found["communication"]:
                    measured, predicted = message["measured"], message["predicted"]
                    self.assertAlmostEqual(measured["calls"], predicted["calls"], places=6)
                    self.assertAlmostEqual(measured["median_s"], predicted["median_s"], delta=2e-9)
                self.assertEqual(found["notes"], [])

    def test_shares_add_up_to_the_step(self):
        _, trace = self.run_of(TINY)
        found = self.compared(trace, TINY)
        for side in ("measured", "predicted"):
            total = sum(share[f"{side}_s"] for share in found["shares"])
            self.assertAlmostEqual(total, found[f"{side}_step_time_s"], delta=1e-9)

    def test_what_takes_longer_is_found(self):
        slow = [TINY, "--set", "kernels.norm=eager"]
        result, trace = self.run_of(*slow)
        found = self.compared(trace, TINY)
        self.assertAlmostEqual(found["measured_step_time_s"], result["step_time_s"], delta=2e-9)
        self.assertLess(found["step_time_error"], 0)
        self.assertEqual(found["shares"][0]["share"], "norm")
        self.assertIn("too fast", found["verdict"])
        self.assertIn("points in norm", found["verdict"])

    def test_softmax_kernels_say_that_attention_is_not_fused(self):
        _, trace = self.run_of(TINY)
        for e in trace.document["traceEvents"]:
            if e["name"] == KERNELS["attention"]:
                e["name"] = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, " \
                            "false, false>(float*)"
        found = self.compared(trace, TINY)
        self.assertTrue(any("attention is not fused" in note for note in found["notes"]))

    def test_another_batch_is_seen_in_calls(self):
        _, trace = self.run_of(TINY, "--set", "workload.global_batch=16")
        found = self.compared(trace, TINY, "--set", "workload.global_batch=32")
        self.assertTrue(any("0.5 times as many" in note for note in found["notes"]), found["notes"])

    def test_a_step_of_one_microbatch_is_seen(self):
        layout = ["--set", "strategy.pp=1", "--set", "strategy.dp=4", "--set"]
        _, trace = self.run_of(TINY, *layout, "workload.global_batch=4")
        found = self.compared(trace, TINY, *layout, "workload.global_batch=16")
        self.assertLess(found["measured_step_time_s"], found["predicted_step_time_s"])
        self.assertTrue(any("prof.step() stands behind each microbatch" in note
                            for note in found["notes"]), found["notes"])

    def test_another_layout_is_seen_in_messages(self):
        _, trace = self.run_of(TINY)
        found = self.compared(trace, TINY, "--set", "strategy.pp=1", "--set", "strategy.tp=4")
        self.assertTrue(any("other groups" in note for note in found["notes"]), found["notes"])

    def test_the_rank_is_the_traces_own(self):
        _, trace = self.run_of(TINY)
        found = self.compared(trace, TINY)
        self.assertEqual((found["trace"]["rank"], found["trace"]["stage"]), (4, 1))
        path = trace.write(self.folder / "trace.json")
        other = self.run_ok("profile", TINY, path, "--rank", "1", "--format", "json").json()
        self.assertEqual((other["trace"]["rank"], other["trace"]["stage"]), (1, 0))
        self.assertEqual(plait("profile", TINY, path, "--rank", "8").code, 2)
        self.assertIn("K014", plait("profile", TINY, path, "--rank", "8").err)

    def test_gzip_and_standard_input_are_the_same(self):
        _, trace = self.run_of(TINY)
        plain = trace.write(self.folder / "trace.json")
        packed = trace.write(self.folder / "trace.json.gz")
        if "has no zlib" in plait("profile", TINY, packed).err:
            self.skipTest("this build has no zlib")
        expected = self.run_ok("profile", TINY, plain, "--format", "csv").out
        self.assertEqual(self.run_ok("profile", TINY, packed, "--format", "csv").out, expected)
        # By its first bytes, whatever its name.
        shutil.move(packed, self.folder / "packed")
        self.assertEqual(self.run_ok("profile", TINY, self.folder / "packed", "--format", "csv").out,
                         expected)
        piped = self.run_ok("profile", TINY, "-", "--format", "csv",
                            stdin=plain.read_text(encoding="utf-8"))
        self.assertEqual(piped.out, expected)

    def test_a_gate(self):
        _, trace = self.run_of(TINY, "--set", "kernels.norm=eager")
        path = trace.write(self.folder / "trace.json")
        self.assertEqual(plait("profile", TINY, path).code, 0)
        over = plait("profile", TINY, path, "--fail-over", "1%")
        self.assertEqual(over.code, 1)
        self.assertIn("over the limit of 1%", over.err)
        self.assertEqual(plait("profile", TINY, path, "--fail-over", "90%").code, 0)
        self.assertEqual(plait("profile", TINY, path, "--fail-over", "much").code, 2)

    def test_text_json_and_csv(self):
        _, trace = self.run_of(TINY)
        path = trace.write(self.folder / "trace.json")
        text = self.run_ok("profile", TINY, path).out
        for words in ("verdict", "share of the step", "time on the device", "communication",
                      "longest kernels"):
            self.assertIn(words, text)
        self.assertTrue(all(len(line) <= 100 for line in text.splitlines()))
        narrow = self.run_ok("profile", TINY, path, env={"COLUMNS": "60", "LC_ALL": "C"}).out
        self.assertTrue(narrow.isascii())
        rows = list(csv.DictReader(io.StringIO(self.run_ok("profile", TINY, path, "--format", "csv").out)))
        self.assertEqual(rows[0]["kind"], "matmul")
        self.assertEqual(float(rows[0]["measured_calls"]), float(rows[0]["predicted_calls"]))
        saved = self.folder / "result.json"
        self.assertEqual(plait("profile", TINY, path, "-o", saved).out, "")
        self.assertIn("verdict", json.loads(saved.read_text(encoding="utf-8")))

    def test_measurements_are_what_calibrate_reads(self):
        trace = KinetoTrace(0, 1)
        trace.document["record_shapes"] = 1
        for number in range(2):
            trace.step(number, 1e5 * number, 9e4)
            for k, rows in enumerate((1024, 2048, 4096, 8192)):
                start = 1e5 * number + 10 + 2e4 * k
                external = 10 * number + k
                trace.event("cpu_op", "aten::mm", start, 5, 1000, 1000,
                            **{"External id": external, "Input Dims": [[rows, 512], [512, 256]],
                               "Input Strides": [[512, 1], [1, 512]],
                               "Input type": ["c10::BFloat16", "c10::BFloat16"]})
                trace.kernel(KERNELS["matmul"], start + 1, start + 10, rows / 8,
                             **{"External id": external})
                trace.collective("all_reduce", 1 << 20, 8, start + 2, start + 2000, 100 + k)
        path = trace.write(self.folder / "trace.json")
        rows = self.folder / "rows.jsonl"
        self.run_ok("profile", TINY, path, "--measurements", rows)
        read = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
        self.assertEqual([row["kind"] for row in read], ["run"] + 4 * ["kernel"] + ["collective", "end"])
        self.assertEqual(read[0]["bench"], "profile")
        products = [row for row in read if row["kind"] == "kernel"]
        self.assertEqual([row["op"]["m"] for row in products], [1024, 2048, 4096, 8192])
        for row in products:
            self.assertAlmostEqual(row["cpu_s"]["median"], row["op"]["m"] / 8 * 1e-6, delta=2e-9)
        self.assertAlmostEqual(read[-2]["out_of_place"]["time_us"], 100, places=3)
        fit = plait("calibrate", rows, "-o", self.folder / "job.json")
        self.assertEqual(fit.code, 0, fit.err)
        self.assertIn("h100-sxm", fit.out)  # of the name that the trace has
        self.assertIn("matmul.nt", fit.out)
        self.run_ok("run", TINY, "--set", f"calibration={self.folder / 'job.json'}")

    def test_a_trace_without_shapes_is_said_to_have_nothing_to_fit(self):
        trace = KinetoTrace(0, 1)
        for number in range(2):
            trace.step(number, 1e5 * number, 9e4)
            trace.kernel(KERNELS["matmul"], 1e5 * number + 1, 1e5 * number + 10, 100)
        path, rows = trace.write(self.folder / "trace.json"), self.folder / "rows.jsonl"
        said = self.run_ok("profile", TINY, path, "--measurements", rows).err
        self.assertIn("W017", said)
        self.assertIn("record_shapes=True", said)

    def test_steps_that_are_not_annotated(self):
        _, trace = self.run_of(TINY, steps=4)
        events = trace.document["traceEvents"]
        events[:] = [e for e in events if not e["name"].startswith("ProfilerStep")]
        path = trace.write(self.folder / "trace.json")
        refused = plait("profile", TINY, path)
        self.assertEqual(refused.code, 2)
        self.assertIn("K013", refused.err)
        self.assertIn("--steps N", refused.err)
        found = self.run_ok("profile", TINY, path, "--steps", "4", "--format", "json").json()
        self.assertEqual(found["trace"]["taken_as_steps"], 4)
        for kind in found["kinds"]:
            self.assertEqual(kind["measured_calls"], kind["predicted_calls"])

    def refused(self, code, name, content):
        path = self.folder / name
        path.write_bytes(content)
        result = plait("profile", TINY, path)
        self.assertEqual((result.code, result.out), (2, ""), result.err)
        self.assertIn(code, result.err)
        self.assertIn(name, result.err)
        return result.err

    def test_wrong_files_are_named_with_a_cure(self):
        timeline = self.folder / "timeline.json"
        self.run_ok("run", TINY, "--trace", timeline)
        own = self.refused("K010", "own.json", timeline.read_bytes())
        self.assertIn("plait run --trace", own)
        nsys = self.refused("K010", "report.sqlite", b"SQLite format 3\0" + bytes(100))
        self.assertIn("torch.profiler", nsys)
        self.refused("K010", "scenario.json", TINY.read_bytes())
        self.refused("K010", "empty.json", b"")
        self.assertEqual(plait("profile", TINY, self.folder / "none.json").code, 2)

    def test_a_trace_that_ends_early_is_refused(self):
        _, trace = self.run_of(TINY)
        whole = trace.write(self.folder / "whole.json").read_bytes()
        for share in (0.01, 0.3, 0.7, 0.999):
            said = self.refused("K011", "cut.json", whole[:int(share * len(whole))])
            self.assertIn("in the middle", said)
        packed = gzip.compress(whole)
        for share in (0.3, 0.999):
            self.refused("K011", "cut.json.gz", packed[:int(share * len(packed))])
        damaged = bytearray(packed)
        damaged[len(damaged) // 2] ^= 0xFF
        self.refused("K011", "damaged.json.gz", bytes(damaged))

    def test_a_large_trace_needs_little_memory(self):
        # 120 MB of events on the host, of which little is kept, behind 20 thousand kernels.
        path = self.folder / "large.json.gz"
        trace = KinetoTrace(0, 8)
        for number in range(4):
            trace.step(number, 1e6 * number, 9e5)
            for k in range(5000):
                start = 1e6 * number + 100 * k
                trace.kernel(ELEMENTWISE, start, start + 50, 40)
        head = json.dumps(trace.document)[:-2]
        self.assertTrue(trace.document["traceEvents"] and head.endswith("}"))
        op = json.dumps({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 5.5,
                         "dur": 2.25, "args": {"External id": 1, "Input Dims": [[4096, 4096]] * 4,
                                               "Call stack": "train.py(12): step; " * 20}})
        count = 120_000_000 // len(op)
        with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
            file.write(head)
            for _ in range(count // 1000):
                file.write(("," + op) * 1000)
            file.write("]}")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        done = subprocess.run(
            [sys.executable, "-c",
             "import resource, subprocess, sys\n"
             "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
             "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
             PLAIT, "profile", TINY, path], capture_output=True, text=True, check=True)
        code, kib = map(int, done.stdout.split())
        self.assertEqual(code, 0, done.stderr)
        self.assertLess(kib, 60_000, f"{kib} KiB (children before: {before})")

    def of_real_trace(self, trace=REAL):
        done = plait("profile", REAL_SCENARIO[0], trace, *REAL_SCENARIO[1:], "--format", "json")
        if "has no zlib" in done.err:
            self.skipTest("this build has no zlib")
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.out)

    def real_events(self):
        with gzip.open(REAL, "rt", encoding="utf-8") as file:
            return json.load(file)

    def test_of_a_real_trace_operators_tell_what_kernels_are_for(self):
        found = self.of_real_trace()
        measured = {kind["kind"]: kind["measured_s"] for kind in found["kinds"]}
        calls = {kind["kind"]: kind["measured_calls"] for kind in found["kinds"]}
        work = [e for e in self.real_events()["traceEvents"]
                if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
        # Nothing is lost: kinds add up to the kernels of the trace.
        self.assertAlmostEqual(sum(measured.values()), sum(e["dur"] for e in work) * 1e-6, delta=1e-9)
        self.assertNotIn("unknown", measured)
        self.assertNotIn("rope", measured)
        self.assertLess(measured["elementwise"], 0.015 * sum(measured.values()))
        each = LAYERS * MICROBATCHES
        self.assertEqual(calls["attention"], 2 * each)
        self.assertEqual(calls["activation"], 2 * each)
        # Every parameter once a microbatch: 12 of a layer, those of both embeddings and of the last
        # norm, whose weight and bias are two.
        self.assertEqual(calls["gradient_sum"], (12 * LAYERS + 2 + 2) * MICROBATCHES)
        # Four linear layers with a bias, a sum in two kernels each.
        self.assertEqual(calls["bias_gradient"], 2 * 4 * each)
        # Dropout and sum of both blocks and both their gradients; dropout of the embeddings.
        self.assertEqual(calls["residual_add"], (4 + 4) * each + 2 * MICROBATCHES)

    def test_of_a_real_trace_both_sides_have_the_same_kinds(self):
        found = self.of_real_trace()
        for kind in found["kinds"]:
            self.assertGreater(kind["measured_s"], 0, kind)
            self.assertGreater(kind["predicted_s"], 0, kind)
        products = next(kind for kind in found["kinds"] if kind["kind"] == "matmul")
        self.assertEqual(products["measured_calls"], products["predicted_calls"])

    def test_of_a_real_trace_what_is_left_is_listed_by_its_operator(self):
        left = [k for k in self.of_real_trace()["kernels"] if k["kind"] == "elementwise"]
        self.assertTrue(all("operator" in k for k in left), left)
        # The gradient of the one projection of queries, keys and values.
        self.assertEqual(left[0]["operator"], "aten::cat in SplitWithSizesBackward0")

    def test_of_a_real_trace_the_profilers_own_cost_is_said(self):
        found = self.of_real_trace()
        self.assertGreater(found["measured_host_idle_s"], 0.5 * found["measured_step_time_s"])
        self.assertTrue(any("which the profiler itself slows down" in note for note in found["notes"]))

    def test_without_operators_names_are_compared(self):
        document = self.real_events()
        document["traceEvents"] = [e for e in document["traceEvents"] if e["cat"] != "cpu_op"]
        path = self.folder / "trace.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        found = self.of_real_trace(path)
        self.assertEqual(found["measured_step_time_s"], self.of_real_trace()["measured_step_time_s"])
        kinds = {kind["kind"]: kind for kind in found["kinds"]}
        for of_operators in ("gradient_sum", "bias_gradient", "residual_add"):
            self.assertNotIn(of_operators, kinds)
        self.assertGreater(kinds["elementwise"]["predicted_s"], 0)

    def test_collectives_without_metadata_are_said(self):
        _, trace = self.run_of(TINY)
        for e in trace.document["traceEvents"]:
            if "Collective name" in e["args"]:
                e["args"] = {k: v for k, v in e["args"].items() if k in ("device", "correlation")}
        found = self.compared(trace, TINY)
        self.assertTrue(any("no size in the trace" in note for note in found["notes"]))
        kinds = {kind["kind"]: kind for kind in found["kinds"]}
        self.assertEqual(kinds["all_reduce"]["measured_calls"], kinds["all_reduce"]["predicted_calls"])
        self.assertIn("all_reduce", COLLECTIVES)


if __name__ == "__main__":
    unittest.main()
