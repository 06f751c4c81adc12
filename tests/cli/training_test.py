"""A section `training`: days, failures and checkpoints of the whole, in every command."""

import csv
import io
import unittest

from plait_command import SOURCE, TINY, CommandTest, plait

LLAMA = SOURCE / "scenarios" / "llama" / "llama-3.1-405b-training.json"
DAY_S = 86400


class Training(CommandTest):
    def whole(self, path, *sets):
        words = [word for s in sets for word in ("--set", s)]
        return self.run_ok("run", path, *words, "--format", "json").json()["training"]

    def test_parts_add_up(self):
        t = self.whole(LLAMA)
        parts = t["steps_s"] + t["lost_s"] + t["restarts_s"] + t["checkpoints_s"]
        self.assertAlmostEqual(t["total_s"], parts, delta=1e-9 * parts)
        self.assertAlmostEqual(t["goodput"], t["steps_s"] / t["total_s"], places=12)
        self.assertAlmostEqual(t["failures"], t["total_s"] / t["machine_mtbf_s"], delta=1e-6)

    def test_llama_3_is_as_published(self):
        """Grattafiori et al. 2024, section 3.3.4: 419 interruptions in 54 days, goodput above 0.9."""
        t = self.whole(LLAMA)
        self.assertAlmostEqual(t["failures"] / t["total_s"] * 54 * DAY_S, 419, delta=1)
        self.assertGreater(t["goodput"], 0.9)
        # bf16 and fp32 main weights and two moments of 405.9e9 parameters; at 2 TB/s.
        self.assertAlmostEqual(t["checkpoint_bytes"], 14 * 405.85e9, delta=1e9)
        self.assertAlmostEqual(t["checkpoint_stall_s"], t["checkpoint_bytes"] / 2e12, places=6)

    def test_nothing_fails_where_that_is_said(self):
        t = self.whole(LLAMA, "training.device_mtbf=0 s")
        self.assertEqual((t["failures"], t["lost_s"], t["restarts_s"], t["checkpoints"]), (0, 0, 0, 1))

    def test_devices_may_last_for_centuries_and_from_where_that_does_not_matter(self):
        """Their time between failures has no end, so that what is told of the unlimited one is so."""
        path = "training.device_mtbf"
        study = self.run_ok("whatif", LLAMA, "-L", f"{path}=50000 h,2000000 h", "--format", "json").json()
        (at,) = [b["value"] for b in study["break_even"] if b["kind"] == "no_longer_matters"]
        never = self.whole(LLAMA, f"{path}=0 s")["total_s"]
        self.assertLess(self.whole(LLAMA, f"{path}={at * 1.02} h")["total_s"], 1.0102 * never)
        self.assertGreater(self.whole(LLAMA, f"{path}={at / 1.02} h")["total_s"], 1.0098 * never)

    def test_intervals_are_whole_steps_and_none_is_better_than_the_default(self):
        best = self.whole(LLAMA)
        for interval in ("20 s", "1 min", "5 min", "2 h", "5 h"):
            t = self.whole(LLAMA, f"training.checkpoint.interval={interval}")
            self.assertGreater(t["total_s"], best["total_s"])
            self.assertGreaterEqual(t["checkpoint_interval_steps"], 1)

    def test_asynchronous_checkpoints_stop_training_for_less(self):
        slow = "training.checkpoint.bandwidth=50 GB/s"
        waits = self.whole(LLAMA, slow)
        goes_on = self.whole(LLAMA, slow, "training.checkpoint.asynchronous=true")
        self.assertLess(goes_on["checkpoint_stall_s"], waits["checkpoint_stall_s"])
        self.assertGreater(goes_on["checkpoint_write_s"], goes_on["checkpoint_stall_s"])
        self.assertLess(goes_on["total_s"], waits["total_s"])

    def test_hosts_of_a_rack_write_as_those_of_nodes_do(self):
        """1.2 GB/s from each of 18 trays of 4 devices."""
        rack = self.whole(LLAMA, "cluster=gb200-nvl72", 'training={"tokens":1e12}', 'strategy={"dp":9,"tp":8}',
                          "workload.global_batch=1152", "model=llama-3.1-8b")
        self.assertAlmostEqual(rack["checkpoint_stall_s"], rack["checkpoint_bytes"] / (18 * 1.2e9), places=6)

    def test_the_price_is_of_all_the_time(self):
        t = self.whole(LLAMA, "cluster.price_per_device_hour=2")
        self.assertAlmostEqual(t["price"], 2 * 16384 * t["total_s"] / 3600, delta=1)

    def test_the_energy_is_that_of_devices_at_their_rated_power(self):
        t = self.whole(LLAMA)
        self.assertAlmostEqual(t["energy_kwh"], 0.7 * 16384 * t["total_s"] / 3600, delta=1)  # 700 W
        self.assertIn("GWh at the devices' rated power", self.run_ok("run", LLAMA).out)

    def test_comparisons_say_what_the_whole_costs(self):
        priced = [LLAMA, "--set", "cluster.price_per_device_hour=2"]
        whole = self.whole(LLAMA, "cluster.price_per_device_hour=2")
        vary = ["-L", "training.restart_time=10 min,1 h"]
        for command in ("compare", "whatif"):
            with self.subTest(command):
                table = self.run_ok(command, *priced, *vary).out
                self.assertIn(f"{whole['price'] / 1e6:.1f} M", table)
                self.assertNotIn("per 1e9", table)  # of steps, without failures
                first = next(csv.DictReader(io.StringIO(
                    self.run_ok(command, *priced, *vary, "--format", "csv").out)))
                self.assertEqual(float(first["training_price"]), whole["price"])
                self.assertEqual(float(first["training_energy_kwh"]), whole["energy_kwh"])
        point = self.run_ok("whatif", *priced, *vary, "--format", "json").json()["points"][0]
        self.assertEqual(point["training_price"], whole["price"])
        self.assertEqual(point["training_energy_kwh"], whole["energy_kwh"])

    def test_reports_are_compared_by_their_trainings(self):
        path = self.folder / "report.json"
        self.run_ok("run", LLAMA, "--set", "cluster.price_per_device_hour=2", "-o", path)
        table = self.run_ok("compare", path, LLAMA).out
        self.assertIn("62.6 M", table)

    def test_a_comparison_has_the_energy_of_the_whole(self):
        kwh = self.whole(LLAMA)["energy_kwh"]
        table = self.run_ok("compare", LLAMA, "-L", "training.restart_time=10 min,1 h").out
        self.assertIn("energy", table.splitlines()[0])
        self.assertIn(f"{kwh / 1e6:.1f} GWh", table)

    def test_a_price_takes_no_time(self):
        study = self.run_ok("whatif", LLAMA, "-L", "cluster.price_per_device_hour=0,3",
                            "--format", "json").json()
        self.assertEqual(study["break_even"], [])
        self.assertIn("price", self.run_ok("whatif", LLAMA, "-L",
                                           "cluster.price_per_device_hour=0,3").out.splitlines()[2])

    def test_numbers_in_other_words_are_told(self):
        tokens = plait("run", LLAMA, "--set", "training.tokens=15T")
        self.assertIn("cure: write 15e12 alone", tokens.err)
        self.assertIn("write 15e12", plait("search", LLAMA, "--tokens", "15T").err)
        self.assertIn("alone: 2.5", plait("search", LLAMA, "--price", "$2.5").err)
        self.assertIn("cluster.price_per_device_hour", plait("run", LLAMA, "--set", "price=2").err)

    def test_a_study_compares_trainings(self):
        study = self.run_ok("whatif", LLAMA, "-L", "training.checkpoint.interval=5 min,1 h",
                            "--format", "json").json()
        short, long = study["points"]
        self.assertEqual(short["step_time_s"], long["step_time_s"])
        self.assertLess(short["training_s"], long["training_s"])
        self.assertGreater(long["training_difference_to_base"], short["training_difference_to_base"])
        self.assertEqual(study["break_even"], [])  # both too often and too seldom are worse
        enough = self.run_ok("whatif", LLAMA, "-L", "training.restart_time=1 min,1 h", "--format",
                             "json").json()["break_even"]
        self.assertEqual([b["kind"] for b in enough], ["no_longer_matters"])
        self.assertIn("the training time is within 1 %", enough[0]["statement"])
        text = self.run_ok("whatif", LLAMA, "-L", "training.checkpoint.interval=5 min,1 h").out
        self.assertIn("goodput", text)
        self.assertNotIn("the step time changes", text)

    def test_text_csv_and_comparison_have_it(self):
        text = self.run_ok("run", LLAMA).out
        for words in ("the whole training: 15.6 T tokens", "steps (goodput)", "failures, one every",
                      "checkpoints of"):
            self.assertIn(words, text)
        (row,) = csv.DictReader(io.StringIO(self.run_ok("run", LLAMA, "--format", "csv").out))
        self.assertEqual(float(row["goodput"]), self.whole(LLAMA)["goodput"])
        (row,) = csv.DictReader(io.StringIO(self.run_ok("run", TINY, "--format", "csv").out))
        self.assertEqual((row["training_s"], row["goodput"]), ("", ""))
        table = self.run_ok("compare", LLAMA, "-L", "training.restart_time=1 min,30 min").out
        self.assertIn("goodput", table)

    def test_what_gets_nowhere_is_refused(self):
        for sets in (["training.device_mtbf=1 h"], ["training.checkpoint.interval=100 d"]):
            words = [word for s in sets for word in ("--set", s)]
            result = plait("run", LLAMA, *words)
            self.assertEqual(result.code, 2)
            self.assertIn("S190", result.err)
            self.assertIn("training.checkpoint", result.err)

    def test_tokens_are_required_and_servers_do_not_train(self):
        missing = plait("run", TINY, "--set", "training.restart_time=1 min")
        self.assertEqual(missing.code, 2)
        self.assertIn("tokens", missing.err)
        serving = SOURCE / "scenarios" / "systems" / "vllm-llama-3.1-70b.json"
        both = plait("serve", serving, "--set", "training.tokens=1e9")
        self.assertEqual(both.code, 2)
        self.assertIn("S064", both.err)


if __name__ == "__main__":
    unittest.main()
