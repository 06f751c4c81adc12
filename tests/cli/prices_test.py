"""What a device costs for an hour, by --price: of all, or of one kind, in each command that compares."""

import unittest

from plait_command import SOURCE, CommandTest, plait

HYBRID = SOURCE / "scenarios" / "llama" / "llama-3.1-8b-16xh100-hybrid.json"
SERVED = SOURCE / "scenarios" / "systems" / "vllm-llama-3.1-70b.json"
BOTH = ["-L", "cluster.preset=hgx-h100,hgx-h200"]
OF_EACH = ["--price", "h100-sxm=2,h200-sxm=3"]


def of_a_step(report, price):
    return price * report["world_size"] * report["step_time_s"] / 3600


class Prices(CommandTest):
    def assert_price(self, report, price):
        self.assertAlmostEqual(report["price_per_step"], of_a_step(report, price), places=12)

    def test_machines_that_are_compared_have_prices_of_their_own(self):
        rows = self.run_ok("compare", HYBRID, *BOTH, *OF_EACH, "--format", "json").json()["candidates"]
        for row, price in zip(rows, (2, 3)):
            self.assert_price(row["report"], price)
        self.assertIn("per 1e9", self.run_ok("compare", HYBRID, *BOTH, *OF_EACH).out)

    def test_points_of_a_study_have_prices_of_their_own(self):
        study = self.run_ok("whatif", HYBRID, *BOTH, *OF_EACH, "--format", "json").json()
        reports = self.run_ok("compare", HYBRID, *BOTH, *OF_EACH, "--format", "json").json()
        self.assertEqual([point["price_per_step"] for point in study["points"]],
                         [row["report"]["price_per_step"] for row in reports["candidates"]])

    def test_a_machine_without_a_price_is_not_said_to_cost_nothing(self):
        study = self.run_ok("whatif", HYBRID, *BOTH, "--price", "h100-sxm=2").out
        row = next(line for line in study.splitlines() if line.startswith("hgx-h200"))
        self.assertRegex(row, r"yes +-  compute")

    def test_servers_that_are_compared_have_prices_of_their_own(self):
        of_each = self.run_ok("serve", SERVED, *BOTH, *OF_EACH, "--format", "json").json()["candidates"]
        for row, price in zip(of_each, (2, 3)):
            service = row["report"]["service"]
            devices = row["report"]["devices"]
            self.assertAlmostEqual(service["price_per_million_output_tokens"],
                                   1e6 * price * devices / 3600 / service["output_tokens_per_s"], places=9)
        one = self.run_ok("serve", SERVED, *BOTH, "--price", "h100-sxm=2,l4=1")
        self.assertIn("warning: W001: --price l4=1 has no effect: no machine has such devices\n", one.err)
        self.assertEqual(one.err.count("warning"), 1)
        self.assertRegex(one.out, r"preset=hgx-h200 .* -  yes")
        alone = self.run_ok("serve", SERVED, "--price", "2").out
        self.assertIn("per 1e6 tokens of output", alone)

    def test_a_price_of_a_kind_goes_before_that_of_the_scenario(self):
        said = ["--set", "cluster.price_per_device_hour=1"]
        for prices, price in (([], 1), (["--price", "2"], 2), (["--price", "h200-sxm=3"], 1),
                              (["--price", "h100-sxm=4,h200-sxm=3"], 4)):
            with self.subTest(prices):
                self.assert_price(self.run_ok("run", HYBRID, *said, *prices, "--format", "json").json(), price)

    def test_nodes_of_several_kinds_cost_their_mean(self):
        mixed = ["--set", 'cluster.other_nodes=[{"nodes": [1, 1], "preset": "hgx-h200"}]']
        self.assert_price(self.run_ok("run", HYBRID, *mixed, *OF_EACH, "--format", "json").json(), 2.5)
        one = plait("compare", HYBRID, *mixed, "--price", "h100-sxm=2")
        self.assertEqual(one.code, 2)
        self.assertIn("error[G024]: h100-sxm has a price and h200-sxm has none", one.err)

    def test_prices_of_devices_that_are_not_there_are_told(self):
        for command in (["run", HYBRID], ["compare", HYBRID], ["whatif", HYBRID, *BOTH], ["serve", SERVED]):
            with self.subTest(command[0]):
                idle = self.run_ok(*command, "--price", "l4=1")
                self.assertEqual(idle.err, "warning: W001: --price l4=1 has no effect: no machine has such devices\n")
                wrong = plait(*command, "--price", "h100-sxn=2.5")
                self.assertEqual(wrong.code, 2)
                self.assertIn('did you mean "h100-sxm"?', wrong.err)

    def test_a_price_has_a_limit(self):
        for price in ("1e300", "h100-sxm=1e10"):
            told = plait("run", HYBRID, "--price", price)
            self.assertEqual(told.code, 2, told.out)
            self.assertIn(f"error[G024]: --price {price}", told.err)
            self.assertIn("up to 1e9", told.err)
        self.assert_price(self.run_ok("run", HYBRID, "--price", "1e9", "--format", "json").json(), 1e9)

    def test_a_name_changes_the_result(self):
        named = self.run_ok("run", HYBRID, "--set", "name=run7")
        self.assertTrue(named.out.startswith("run7 "))
        self.assertEqual(named.err, "")

    def test_a_price_hides_no_field_without_effect(self):
        told = self.run_ok("run", HYBRID, "--price", "2", "--set", "workload.micro_batch=1").err
        self.assertEqual(told, "warning: W002: --set workload.micro_batch=1 changes nothing: it is what it was\n")

    def test_a_price_of_any_device_and_prices_that_vary_are_two_answers(self):
        varied = ["-L", "cluster.price_per_device_hour=2,3"]
        for command in ("whatif", "compare"):
            refused = plait(command, HYBRID, *varied, "--price", "2")
            self.assertEqual(refused.code, 2, refused.out)
            for word in ("G024", "--price 2", "cluster.price_per_device_hour"):
                self.assertIn(word, refused.err)
            self.run_ok(command, HYBRID, *varied, "--price", "h200-sxm=2")

    def test_one_price_of_unlike_devices_is_told_wherever_they_are_compared(self):
        for command in ("whatif", "compare"):
            told = self.run_ok(command, HYBRID, *BOTH, "--price", "2").err
            self.assertIn("W026: h100-sxm and h200-sxm have one price", told)
            self.assertNotIn("W026", self.run_ok(command, HYBRID, *BOTH, *OF_EACH).err)
            same = ["-L", "strategy.tp=1,2", "--price", "2"]
            self.assertNotIn("W026", plait(command, HYBRID, *same).err)


if __name__ == "__main__":
    unittest.main()
