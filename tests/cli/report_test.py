"""JSON and CSV reports: the documented keys are there, and their numbers agree with one another."""

import csv
import io
import json
import math
import unittest

import jsonschema

from plait_command import SCENARIOS, SOURCE, TINY, CommandTest, plait

NUMBERS = ["step_time_s", "tokens_per_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu",
           "hardware_tflops_per_gpu", "mfu", "hfu", "peak_memory_bytes", "world_size"]
OBJECTS = ["breakdown", "memory", "critical_path", "sensitivity", "provenance"]
DDP = "scenarios/systems/pytorch-ddp.json"


def sets(change):
    return [word for field, value in change["set"].items() for word in ("--set", f"{field}={value}")]


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-9)


class Report(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.reports = {path.stem: plait("run", path, "--format", "json").json()
                       for path in [TINY, *SCENARIOS]}

    def for_each(self):
        for name, report in self.reports.items():
            with self.subTest(name):
                yield report

    def test_documented_keys(self):
        for r in self.for_each():
            for key in NUMBERS:
                self.assertGreater(r[key], 0, key)
            for key in OBJECTS:
                self.assertIsInstance(r[key], dict, key)
                self.assertTrue(r[key], key)
            self.assertIsInstance(r["fits"], bool)

    def test_results_keep_to_their_schema(self):
        schema = plait("schema", "run").json()
        check = jsonschema.Draft7Validator(schema)
        for r in self.for_each():
            self.assertEqual(r["run"]["schema"], schema["$id"])
            self.assertEqual([error.message for error in check.iter_errors(r)], [])
            self.assertTrue(list(check.iter_errors({**r, "step_time_s": "1 s"})))

    def test_changes_of_the_layout_keep_what_they_promise(self):
        found = plait("run", DDP, "--changes", "--format", "json").json()
        self.assertNotIn("changes_that_fit", found)
        best = found["changes_that_help"]["best"]
        self.assertGreater(len(best), 0)
        for change in best:
            made = plait("run", DDP, *sets(change), "--format", "json").json()
            self.assertEqual(made["step_time_s"], change["step_time_s"])
            self.assertLess(made["step_time_s"], found["step_time_s"])
            self.assertTrue(made["fits"])
        schema = jsonschema.Draft7Validator(plait("schema", "run").json())
        self.assertEqual([error.message for error in schema.iter_errors(found)], [])
        self.assertIn("changes of the layout that help most", plait("run", DDP, "--changes").out)

    def test_changes_of_a_layout_that_does_not_fit_make_it_fit(self):
        large = (DDP, "--set", "model=llama-3.1-8b")
        found = plait("run", *large, "--changes", "--format", "json").json()
        self.assertNotIn("changes_that_help", found)
        self.assertGreater(len(found["changes_that_fit"]), 0)
        for change in found["changes_that_fit"]:
            made = plait("check", *large, *sets(change), "--format", "json").json()
            self.assertTrue(made["fits"])
            self.assertEqual(made["peak_memory_bytes"], change["peak_memory_bytes"])
        self.assertIn("smallest changes that fit", plait("run", *large, "--changes").out)

    def test_gathers_that_nothing_hides_are_told(self):
        found = plait("run", "scenarios/systems/deepspeed-zero-1.json", "--set",
                      "strategy.data.overlap_gathers=false", "--changes", "--format", "json").json()
        self.assertIn({"strategy.data.overlap_gathers": "true"},
                      [change["set"] for change in found["changes_that_help"]["best"]])

    def test_changes_are_no_table(self):
        refused = plait("run", DDP, "--changes", "--format", "csv")
        self.assertEqual(refused.code, 2)
        self.assertIn("no CSV form", refused.err)

    def test_shares_sum_to_the_step_time(self):
        for r in self.for_each():
            total = {key: sum(group["total_s"] for group in r[key].values())
                     for key in ("breakdown", "critical_path")}
            self.assertTrue(math.isclose(total["breakdown"], r["step_time_s"], rel_tol=1e-6))
            # The path is that of a step by itself, longer where the next one begins before its end.
            overlaps = "zb-" in r["layout"] or "dualpipe" in r["layout"]
            if not overlaps or total["critical_path"] < r["step_time_s"]:
                self.assertTrue(math.isclose(total["critical_path"], r["step_time_s"], rel_tol=1e-6),
                                f"{total} of {r['step_time_s']}")

    def test_a_slow_host_binds_whatever_the_network(self):
        for network in ("analytic", "flow"):
            r = plait("run", TINY, "--set", "host=50 us", "--network", network,
                      "--format", "json").json()
            self.assertEqual(r["bound_by"], "host", network)
            self.assertGreater(r["breakdown"]["host"]["total_s"], 0)
            self.assertGreater(r["sensitivity"]["host_issue"]["time_s"], 0)

    def test_rates_agree(self):
        for r in self.for_each():
            self.assertTrue(close(r["tokens_per_s"], r["tokens_per_s_per_gpu"] * r["world_size"]))
            mfu = r["model_tflops_per_gpu"] / r["peak_flops_per_gpu_tflops"]
            self.assertTrue(close(r["mfu"], mfu))
            self.assertLess(r["hfu"], 1)
            self.assertGreaterEqual(r["hfu"], r["mfu"])
            stages = r.get("stage_tp", [r["mesh"]["tp"]] * r["mesh"]["pp"])
            replicas = math.prod(n for axis, n in r["mesh"].items() if axis not in ("pp", "tp"))
            self.assertEqual(replicas * sum(stages), r["world_size"])

    def test_memory_items_sum_to_the_peak_and_decide_what_fits(self):
        for r in self.for_each():
            memory = r["memory"]
            self.assertEqual(sum(memory["items"].values()), r["peak_memory_bytes"])
            self.assertEqual(r["fits"], r["peak_memory_bytes"] <= memory["capacity_bytes"])

    def test_provenance_shares_sum_to_one(self):
        for r in self.for_each():
            shares = [v for k, v in r["provenance"].items() if k != "band"]
            self.assertTrue(math.isclose(sum(shares), 1, rel_tol=1e-9))

    def test_csv_says_the_same(self):
        (row,) = csv.DictReader(io.StringIO(plait("run", TINY, "--format", "csv").out))
        report = self.reports[TINY.stem]
        for key in NUMBERS:
            self.assertTrue(math.isclose(float(row[key]), report[key], rel_tol=1e-6), key)

    def test_a_stored_result_is_compared_as_what_it_is(self):
        stored = self.folder / "stored.json"
        whole = self.run_ok("run", TINY, "--price", "2.5", "-o", stored).out
        self.assertEqual(whole, "")
        fresh = json.loads(stored.read_text(encoding="utf-8"))
        compared = self.run_ok("compare", stored, TINY, "--format", "json").json()
        self.assertEqual(compared["candidates"][0]["report"], fresh)
        table = [list(csv.DictReader(io.StringIO(self.run_ok(*call, "--format", "csv").out, newline="")))[0]
                 for call in (["compare", stored], ["run", TINY, "--price", "2.5"])]
        self.assertEqual({k: table[0][k] for k in table[1]}, table[1])

    def test_a_step_that_takes_no_time_is_no_result(self):
        for step in (0, -1.5):
            odd = self.file("odd.json", json.dumps({"step_time_s": step, "breakdown": {}, "world_size": 1}))
            told = plait("compare", odd, TINY)
            self.assertEqual(told.code, 2, told.out)
            self.assertIn("error[G029]", told.err)
            self.assertIn("odd.json", told.err)

    def test_what_a_real_run_measured_is_no_prediction(self):
        ran = self.file("ran.json", json.dumps({"scenario": "tiny", "ranks": 4, "steps_s": [0.4],
                                                "step_time_s": 0.4, "classes": [], "memory": []}))
        told = plait("compare", TINY, ran)
        self.assertEqual(told.code, 2, told.out)
        self.assertIn("error[F006]: the file holds a measurement of plait realrun", told.err)
        self.assertIn("cure: name the scenario", told.err)

    def test_csv_has_prices(self):
        priced = ["run", TINY, "--set", "cluster.price_per_device_hour=2.5", "--format"]
        (row,) = csv.DictReader(io.StringIO(plait(*priced, "csv").out))
        report = plait(*priced, "json").json()
        for key in ("price_per_step", "price_per_billion_tokens"):
            self.assertTrue(close(float(row[key]), report[key]), key)

    def test_unfolded_says_the_same(self):
        unfolded = plait("run", TINY, "--unfold", "--format", "json").json()
        self.assertEqual(unfolded["step_time_s"], self.reports[TINY.stem]["step_time_s"])

    def test_the_busiest_experts_do_not_recompute_for_all_ranks(self):
        """HFU counts what all ranks compute: skew moves tokens between them, and makes none."""
        mixture = SOURCE / "scenarios" / "systems" / "megatron-moe-mixtral-8x7b.json"
        again = []
        for skew in (1, 2, 4):
            r = self.run_ok("run", mixture, "--set", "strategy.recompute=full", "--set",
                            f"workload.expert_skew={skew}", "--format", "json").json()
            again.append(r["hfu"] / r["mfu"])
        self.assertAlmostEqual(again[0], again[1], delta=2e-3)
        self.assertAlmostEqual(again[0], again[2], delta=2e-3)


if __name__ == "__main__":
    unittest.main()
