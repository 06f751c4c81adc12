"""plait whatif: tables, break-evens, curves and placements of varied scenarios."""

import csv
import io
import math
import unittest
import xml.etree.ElementTree as ElementTree

from plait_command import SOURCE, TINY, CommandTest, plait

HYBRID = SOURCE / "scenarios" / "llama" / "llama-3.1-8b-16xh100-hybrid.json"
INTER = "cluster.inter_node.bandwidth"


class WhatIf(CommandTest):
    def study(self, *arguments):
        return self.run_ok("whatif", *arguments, "--format", "json").json()

    def step(self, *sets):
        words = [word for s in sets for word in ("--set", s)]
        return self.run_ok("run", HYBRID, *words, "--format", "json").json()["step_time_s"]

    def test_points_are_what_run_predicts(self):
        study = self.study(HYBRID, "-L", f"{INTER}=100 Gbit/s,200 Gbit/s")
        self.assertEqual(study["base"]["step_time_s"], self.step())
        self.assertEqual([p["values"][INTER] for p in study["points"]], ["100 Gbit/s", "200 Gbit/s"])
        for p in study["points"]:
            expected = self.step(f"cluster.fabric.bandwidth={p['values'][INTER]}")
            self.assertEqual(p["step_time_s"], expected)
            change = expected / study["base"]["step_time_s"] - 1
            self.assertTrue(math.isclose(p["step_time_difference_to_base"], change, abs_tol=1e-12))
        self.assertEqual(study["points"][0]["step_time_difference_to_first"], 0)
        self.assertEqual(study["varied"], [{"path": INTER, "values": ["100 Gbit/s", "200 Gbit/s"],
                                            "base": "400 Gbit/s"}])

    def test_beyond_its_break_even_a_field_no_longer_matters(self):
        study = self.study(HYBRID, "-L", f"{INTER}=50 Gbit/s,400 Gbit/s")
        (enough,) = [b for b in study["break_even"] if b["kind"] == "no_longer_matters"]
        self.assertEqual(enough["unit"], "Gbit/s")
        at = enough["value"]
        # The range asked for ends at 8 * 400 Gbit/s, and unlimited is 1000 times that.
        unlimited = self.step(f"{INTER}=3200000 Gbit/s")
        self.assertLessEqual(self.step(f"{INTER}={at * 1.01} Gbit/s"), 1.01 * unlimited)
        self.assertGreater(self.step(f"{INTER}={at / 1.01} Gbit/s"), 1.01 * unlimited)

    def test_bounds_change_where_it_is_said(self):
        study = self.study(HYBRID, "-L", f"{INTER}=10 Gbit/s,400 Gbit/s")
        changes = [b for b in study["break_even"] if b["kind"] == "bound_changes"]
        self.assertTrue(changes)
        for b in changes:
            near = [b["value"] / 1.01, b["value"] * 1.01]
            points = self.study(HYBRID, "-L", INTER + "=" + ",".join(f"{v} Gbit/s" for v in near))
            self.assertEqual([p["bound"] for p in points["points"]],
                             [b["bound_below"], b["bound_above"]])

    def test_whole_numbers_and_words_have_no_break_even(self):
        study = self.study(HYBRID, "-L", "cluster.nodes=2,4", "-L", "strategy.recompute=none,full")
        self.assertEqual(study["break_even"], [])
        self.assertEqual(len(study["points"]), 4)
        self.assertEqual(study["points"][2]["world_size"], 32)

    def test_what_is_told_of_faster_nics_is_what_they_gain(self):
        """Of narrow switches that nothing crosses, and of those that the groups cross."""
        llama = SOURCE / "scenarios" / "llama"
        large, small = llama / "llama-3.1-405b-16384xh100.json", llama / "llama-2-13b-16xa100.json"
        narrow = ["cluster.fabric.oversubscription=8"]
        for path, resource, faster, sets in (
                (large, "ethernet", "440 Gbit/s", []), (small, "infiniband", "220 Gbit/s", []),
                (small, "infiniband", "220 Gbit/s", narrow),
                (small, "infiniband", "220 Gbit/s", [*narrow, "cluster.fabric.nodes_per_pod=1"])):
            with self.subTest(path=path.stem, sets=sets):
                words = [word for s in sets for word in ("--set", s)]
                before = self.run_ok("run", path, *words, "--format", "json").json()
                after = self.run_ok("run", path, *words, "--set", f"cluster.fabric.bandwidth={faster}",
                                    "--format", "json").json()
                told = before["sensitivity"][f"{resource}_bandwidth"]["step_time_change_for_10_percent"]
                real = after["step_time_s"] / before["step_time_s"] - 1
                self.assertAlmostEqual(told, real, delta=0.1 * abs(real) + 1e-4)

    def test_the_least_jitter_does_not_make_devices_faster(self):
        study = self.study(HYBRID, "-L", "cluster.jitter=0,0.0001,0.01,0.1")
        steps = [p["step_time_s"] for p in study["points"]]
        self.assertEqual(steps, sorted(steps))
        self.assertLess(steps[1], 1.001 * steps[0])

    def test_a_field_that_nothing_depends_on_is_told_from_one_that_is_no_limit(self):
        def statement(path, values, *arguments):
            study = self.study(HYBRID, "-L", f"{path}={values}", *arguments)
            (found,) = study["break_even"]
            self.assertEqual(found["kind"], "no_effect")
            return found["statement"]
        self.assertIn("changes nothing at all from",
                      statement("cluster.storage_bandwidth", "1 GB/s,10 GB/s"))
        self.assertIn("cluster.variation has no effect: there is one device", statement(
            "cluster.variation", "0.1,0.2", "--set", "cluster=hgx-h100", "--set", "cluster.node.devices=1",
            "--set", "strategy={}"))
        self.assertRegex(statement(f"{INTER.replace('bandwidth', 'latency')}", "1 ns,2 ns"),
                         "does not matter: from .* changes by less than 1 %")

    def test_layouts_that_do_not_divide_carry_the_reason(self):
        study = self.study(TINY, "-L", "strategy.tp=2,3")
        self.assertTrue(study["points"][0]["planned"])
        self.assertFalse(study["points"][1]["planned"])
        self.assertRegex(study["points"][1]["reason"], r"^S0\d\d: ")

    def test_price_is_that_of_all_devices_for_the_step(self):
        study = self.study(HYBRID, "--set", "cluster.price_per_device_hour=3", "-L",
                           "cluster.nodes=2,4")
        for p in study["points"]:
            price = 3 * p["world_size"] * p["step_time_s"] / 3600
            self.assertTrue(math.isclose(p["price_per_step"], price, rel_tol=1e-12))
            per_token = 3 / 3600 / p["tokens_per_s_per_gpu"]
            self.assertTrue(math.isclose(p["price_per_billion_tokens"], 1e9 * per_token,
                                         rel_tol=1e-9))

    def test_tensor_groups_across_nodes_take_longer(self):
        orders = ["[tp,dp,fsdp]", "[dp,tp,fsdp]", "[fsdp,dp,tp]"]
        study = self.study(HYBRID, "--set", "strategy.tp=8", "--set", "strategy.fsdp=1", "--set",
                           "strategy.dp=2", "-L", "placement.order=" + ",".join(orders))
        inside, split, _ = [p["step_time_s"] for p in study["points"]]
        self.assertEqual(inside, study["base"]["step_time_s"])
        self.assertGreater(split, inside)
        self.assertEqual(study["points"][0]["placement"], "in order")

    def test_placed_ranks_fold(self):
        for placement in ("placement.order=[pp,dp,tp]", "placement.map=[3,1,0,2,7,5,4,6]",
                          "placement.stages_per_node=2"):
            call = ["run", TINY, "--set", placement, "--format", "json"]
            folded = self.run_ok(*call).json()
            self.assertEqual(folded["step_time_s"], self.run_ok(*call, "--unfold").json()["step_time_s"])

    def test_two_curves_cross_where_it_is_said(self):
        study = self.study(HYBRID, "-L", f"{INTER}=5 Gbit/s,400 Gbit/s", "-L", "strategy.tp=2,8")
        for c in study["crossovers"]:
            for factor, faster in ((1 / 1.02, "faster_below"), (1.02, "faster_above")):
                value = f"{INTER}={c['value'] * factor} Gbit/s"
                points = self.study(HYBRID, "-L", value, "-L", "strategy.tp=2,8")["points"]
                best = min(points, key=lambda p: p["step_time_s"])
                self.assertEqual(best["values"]["strategy.tp"], c[faster]["strategy.tp"])

    def test_threads_change_nothing(self):
        call = ["whatif", HYBRID, "-L", f"{INTER}=100 Gbit/s,200 Gbit/s", "-L",
                "cluster.inter_node.latency=1 us,2 us"]
        self.assertEqual(self.run_ok(*call).out, self.run_ok(*call, "-j", "4").out)

    def test_csv_says_the_same(self):
        call = [HYBRID, "-L", f"{INTER}=100 Gbit/s,200 Gbit/s"]
        rows = list(csv.DictReader(io.StringIO(self.run_ok("whatif", *call, "--format", "csv").out)))
        for row, point in zip(rows, self.study(*call)["points"], strict=True):
            self.assertEqual(row[INTER], point["values"][INTER])
            self.assertEqual(row["bound"], point["bound"])
            self.assertEqual(float(row["step_time_s"]), point["step_time_s"])

    def test_curves_have_a_mark_for_each_point(self):
        path = self.folder / "curves.svg"
        self.run_ok("whatif", HYBRID, "-L", f"{INTER}=25 Gbit/s,100 Gbit/s,400 Gbit/s", "-L",
                    "strategy.recompute=none,full", "--svg", path)
        root = ElementTree.parse(path).getroot()
        svg = "{http://www.w3.org/2000/svg}"
        lines = list(root.iter(svg + "polyline"))
        self.assertEqual(len(lines), 2)
        self.assertEqual([len(line.get("points").split()) for line in lines], [3, 3])
        texts = [t.text for t in root.iter(svg + "text")]
        for text in (f"{INTER} (Gbit/s)", "25", "100", "400", "recompute none", "bound by:"):
            self.assertIn(text, texts)

    def test_what_is_wrong_is_said(self):
        for code, arguments in (("G001", [HYBRID]),
                                ("G004", [HYBRID, "-L", "strategy.tp"]),
                                ("F005", [HYBRID, "-L", "strategy.pt=1,2"]),
                                ("U002", [HYBRID, "-L", f"{INTER}=1 Gbit"]),
                                ("G016", [HYBRID, "-L", f"{INTER}=1 GB/s", "-L",
                                          "cluster.fabric.bandwidth=2 GB/s"])):
            result = plait("whatif", *arguments)
            self.assertEqual(result.code, 2, result.err)
            self.assertIn(f"error[{code}]", result.err)
        none = plait("whatif", TINY, "-L", "strategy.tp=3,5")
        self.assertEqual((none.code, "error[G009]" in none.err), (2, True))


if __name__ == "__main__":
    unittest.main()
