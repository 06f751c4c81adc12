"""plait realrun: cases of the verified matrix, and verification of a scenario."""

import csv
import io
import json
import unittest

from plait_command import SOURCE, CommandTest, plait

SMALL = SOURCE / "scenarios" / "tiny" / "tiny-8xh100.json"
# After so many steps rounding to 8 bits has led elsewhere.
DIVERGED = [SMALL, "--verify", "--precision", "bf16", "--steps", "100",
            "--set", "workload.global_batch=4", "--set", "workload.sequence_length=16"]
ENVIRONMENT = 3


class Realrun(CommandTest):
    def setUp(self):
        super().setUp()
        if plait("realrun", SMALL, "--verify").code == ENVIRONMENT:
            self.skipTest("this build has no real runs")

    def test_cases_of_the_matrix_by_name_and_formats_say_the_same(self):
        call = ["realrun", "--matrix", "--cases", "hpZ", "--precision", "fp32"]
        cases = plait(*call, "--format", "json").json()["cases"]
        self.assertGreater(len(cases), 2)
        for case in cases:
            self.assertIn("hpZ", case["strategy"])
        rows = list(csv.DictReader(io.StringIO(plait(*call, "--format", "csv").out)))
        text = plait(*call).out
        self.assertEqual([c["strategy"] for c in cases], [r["strategy"] for r in rows])
        self.assertEqual([c["worst_error"] for c in cases], [float(r["worst_error"]) for r in rows])
        for case in cases:
            self.assertIn(case["strategy"], text)
        self.assertIn(f"{len(cases)} of {len(cases)} the same", text)

    def test_a_gpu_that_is_not_there_is_77(self):
        run, bench = ["realrun", SMALL, "--backend", "cuda"], ["--backend", "cuda", "--quick"]
        for command in ([*run, "--verify"], run, ["bench", "compute", *bench],
                        ["bench", "copy", *bench]):
            result = plait(*command)
            if result.code == 0:
                self.skipTest("there is a GPU")
            if result.code == ENVIRONMENT:
                self.assertIn("this build has no CUDA", result.err)
            else:
                self.assertEqual(result.code, 77, result.err)
                self.assertIn("skipped: no NVIDIA", result.err)

    def test_gpus_do_not_run_fp64(self):
        result = plait("realrun", SMALL, "--verify", "--backend", "cuda", "--precision", "fp64")
        self.assertEqual(result.code, 2)

    def test_no_is_1(self):
        result = plait("realrun", *DIVERGED)
        self.assertEqual(result.code, 1)
        self.assertIn("DIFFERENT", result.out)
        self.assertIn("verify fewer layers and steps, or in fp32", result.out)

    def test_a_scenario_in_all_precisions(self):
        result = plait("realrun", SMALL, "--verify", "--precision", "fp64,fp32,bf16", "--steps", "2")
        self.assertEqual(result.code, 0, result.out)
        self.assertEqual(result.out.count("SAME"), 3)
        self.assertEqual(result.out.count("as planned on every rank"), 3)
        self.assertEqual(result.out.count("in step 2"), 3)

    def test_plans_that_round_otherwise_are_the_same_in_bf16(self):
        # Whose partial sums over tp are rounded: where experts are chosen, where the derivative
        # jumps, in deep models and after several steps.
        cases = {"experts": {"experts": 8, "experts_per_token": 2, "layers": 4},
                 "relu": {"activation": "relu", "layers": 4}, "deep": {"layers": 32},
                 "steps": {"layers": 4}}
        for name, change in cases.items():
            with self.subTest(name):
                scenario = {"model": {"preset": "tiny", **change},
                            "workload": {"sequence_length": 64, "global_batch": 8},
                            "strategy": {"tp": 2},
                            "cluster": {"preset": "cpu-host", "devices_per_node": 2}}
                result = plait("realrun", "-", "--verify", "--precision", "bf16", "--steps",
                               5 if name == "steps" else 1, stdin=json.dumps(scenario))
                self.assertEqual(result.code, 0, result.out + result.err)
                self.assertIn("SAME", result.out)

    def test_a_verified_scenario_is_written_for_programs_too(self):
        call = ["realrun", SMALL, "--verify", "--precision", "fp64,fp32"]
        result = plait(*call, "--format", "json").json()
        self.assertEqual([c["precision"] for c in result["cases"]], ["fp64", "fp32"])
        for case in result["cases"]:
            self.assertEqual((case["strategy"], case["ranks"]), ("tiny-8xh100", 8))
            self.assertLessEqual(case["gradient_error"], case["allowed_gradient_error"])
            self.assertTrue(case["passed"])
        rows = list(csv.DictReader(io.StringIO(plait(*call, "--format", "csv").out)))
        self.assertEqual([r["passed"] for r in rows], ["true", "true"])

    def test_options_without_effect_are_refused(self):
        for options, told in ((["--steps", "5"], "--steps requires --verify or --matrix"),
                              (["--precision", "bf16"], "--precision requires --verify"),
                              (["--tf32"], "--backend cpu excludes --tf32"),
                              (["--verify", "--tf32"], "--backend cpu excludes --tf32"),
                              (["--graphs", "on"], "--graphs on requires --backend cuda")):
            with self.subTest(options):
                result = plait("realrun", SMALL, *options)
                self.assertEqual((result.code, told in result.err), (2, True), result.err)
        for option in (["--set", "workload.micro_batch=2"], ["--network", "flow"]):
            result = plait("realrun", "--matrix", "--cases", "zero 1", *option)
            self.assertEqual(result.code, 2)
            self.assertIn("--matrix excludes --set and --network", result.err)

    def test_classes_of_ops_are_those_of_the_step_that_the_trace_shows(self):
        # Medians over steps would leave out the turns that a rank gives up now and then.
        small = {"model": {"preset": "tiny", "layers": 2},
                 "workload": {"sequence_length": 16, "global_batch": 4}, "strategy": {"dp": 2},
                 "cluster": {"preset": "cpu-host", "devices_per_node": 2}}
        trace = self.folder / "trace.json"
        result = plait("realrun", "-", "--repeats", "4", "--warmup", "0", "--trace", trace,
                       "--format", "json", stdin=json.dumps(small)).json()
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        phases = {(e["pid"], e["tid"]) for e in events
                  if e["name"] == "thread_name" and e["args"]["name"] == "phase"}
        traced = sum(e["dur"] * 1e-6 for e in events
                     if e["ph"] == "X" and (e["pid"], e["tid"]) not in phases)
        told = sum(c["measured_s"] for c in result["classes"]) * result["ranks"]
        self.assertAlmostEqual(told / traced, 1, places=6)

    def test_a_transport_changes_no_bit(self):
        # Collectives add in the order of their rounds, whoever carries the bytes.
        call = ["realrun", SMALL, "--verify", "--precision", "fp64,bf16", "--steps", "2"]
        threads = plait(*call).out
        self.assertEqual(threads.count("over threads"), 2)
        for transport in ("tcp", "mpi"):
            with self.subTest(transport):
                result = plait(*call, "--transport", transport)
                if transport == "mpi" and result.code == ENVIRONMENT:
                    self.skipTest(result.err)
                self.assertEqual(result.code, 0, result.err)
                self.assertEqual(result.out.replace(f"over {transport}", "over threads"), threads)

    def test_a_difference_is_1_over_every_transport(self):
        for transport in ("threads", "tcp", "mpi"):
            with self.subTest(transport):
                result = plait("realrun", *DIVERGED, "--transport", transport)
                if transport == "mpi" and result.code == ENVIRONMENT:
                    self.skipTest(result.err)
                self.assertEqual(result.code, 1, result.err)
                self.assertIn("DIFFERENT", result.out)

    def test_sequences_share_the_slots_of_an_expert_that_do_not_divide(self):
        mixture = {"preset": "tiny", "experts": 8, "experts_per_token": 2, "expert_ffn_hidden": 16}
        box = {"preset": "cpu-host", "devices_per_node": 1}
        for sequences in (2, 3, 4):
            with self.subTest(sequences=sequences):
                workload = {"sequence_length": 10, "global_batch": sequences,
                            "micro_batch": sequences, "precision": "fp32"}
                path = self.file("m.json", json.dumps({"name": "m", "model": mixture, "workload": workload,
                                        "strategy": {}, "cluster": box}))
                result = plait("realrun", path, "--repeats", "1", "--warmup", "0")
                self.assertEqual(result.code, 0, result.err)

    def test_a_timed_run_says_its_numbers(self):
        call = ["realrun", SMALL, "--repeats", "1", "--warmup", "0"]
        self.assertIn("numbers fp32", plait(*call).out.splitlines()[0])
        self.assertEqual(plait(*call, "--format", "json").json()["numbers"], "fp32")

    def test_warnings_are_said_once(self):
        # Groups of microbatches without a pipeline have no effect.
        idle = ["--set", "strategy.pp=1", "--set", "strategy.fsdp=4", "--set",
                "strategy.pipeline.microbatch_group=2"]
        for transport in ("threads", "tcp", "mpi"):
            with self.subTest(transport):
                result = plait("realrun", SMALL, "--verify", "--transport", transport, *idle)
                if transport == "mpi" and result.code == ENVIRONMENT:
                    self.skipTest(result.err)
                self.assertEqual(result.err.count("warning"), 1, result.err)

    def test_nothing_else_loads_openblas(self):
        """Its threads would spin beside every command."""
        listed = {"LD_DEBUG": "files"}
        run = plait("realrun", SMALL, "--verify", "--steps", "1", env=listed)
        if "openblas" not in run.err:
            self.skipTest("this loader does not say what it loads")
        self.assertNotIn("openblas", plait("run", SMALL, env=listed).err)

    def test_quantised_exchanges_are_not_verified_beside_tensor_parallelism(self):
        sharded = ["--set", "strategy.pp=1", "--set", "strategy.dp=1", "--set", "strategy.zero_stage=3",
                   "--set", "strategy.zero_plus_plus.quantized_gradients=true", "--set"]
        beside = plait("realrun", SMALL, "--verify", *sharded, "strategy.fsdp=4", "--set", "strategy.tp=2")
        self.assertEqual((beside.code, "G026" in beside.err), (2, True), beside.err)
        alone = plait("realrun", SMALL, "--verify", *sharded, "strategy.fsdp=8", "--set", "strategy.tp=1")
        self.assertEqual(alone.code, 0, alone.out + alone.err)

    def test_usage_errors_are_2(self):
        for call in ([], ["--verify"], ["--matrix", "--verify"], ["--matrix", SMALL],
                     ["--matrix", "--cases", "pigeon"], [SMALL, "--verify", "--cases", "fsdp"],
                     [SMALL, "--verify", "--precision", "fp8"],
                     [SMALL, "--verify", "--steps", "0"], [SMALL, "--verify", "--repeats", "3"],
                     [SMALL, "--verify", "--shaped"], ["--matrix", "--transport", "tcp"],
                     [SMALL, "--transport", "pigeon"], ["-", "--transport", "mpi"]):
            with self.subTest(call):
                result = plait("realrun", *call)
                self.assertEqual((result.code, result.out), (2, ""), result.err)


if __name__ == "__main__":
    unittest.main()
