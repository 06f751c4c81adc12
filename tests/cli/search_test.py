"""plait search: the best layouts of a scenario, and what becomes of fields left open."""

import csv
import io
import json
import math
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from plait_command import SOURCE, TINY, CommandTest, plait

MIXTRAL = SOURCE / "scenarios" / "systems" / "megatron-moe-mixtral-8x7b.json"
HYBRID = SOURCE / "scenarios" / "llama" / "llama-3.1-8b-16xh100-hybrid.json"


class Search(CommandTest):
    def search(self, *arguments):
        return self.run_ok("search", *arguments, "--format", "json").json()

    def run_with(self, file, settings):
        words = [w for path, value in settings.items() for w in ("--set", f"{path}={value}")]
        return self.run_ok("run", file, *words, "--format", "json").json()

    def test_the_answer_is_what_run_predicts(self):
        answer = self.search(HYBRID, "--best", "3")
        self.assertEqual(len(answer["best"]), 3)
        for row in answer["best"]:
            report = self.run_with(HYBRID, row["settings"])
            self.assertEqual(report["step_time_s"], row["report"]["step_time_s"])
            self.assertEqual(report["peak_memory_bytes"], row["report"]["peak_memory_bytes"])
            self.assertTrue(report["fits"])
            self.assertLessEqual(row["bound_s"], report["step_time_s"])

    def test_nothing_that_people_try_is_faster(self):
        best = self.search(HYBRID)["best"][0]["report"]["step_time_s"]
        table = self.run_ok("compare", HYBRID, "-L", "strategy.tp=1,2,4,8",
                            "-L", "strategy.recompute=none,full", "--format", "json").json()
        planned = [c["report"] for c in table["candidates"] if c["planned"]]
        self.assertGreater(len(planned), 4)
        for report in planned:
            self.assertTrue(report["step_time_s"] >= best or not report["fits"])

    def test_every_layout_is_accounted_for(self):
        counts = self.search(HYBRID)["layouts"]
        parts = ["refused", "too_large", "too_slow", "simulated", "undecided"]
        self.assertEqual(sum(counts[p] for p in parts), counts["considered"])
        self.assertEqual((counts["undecided"], counts["gap"]), (0, 0))

    def test_a_scenario_keeps_its_place(self):
        answer = self.search(HYBRID)
        written = self.run_ok("run", HYBRID, "--format", "json").json()
        self.assertEqual(answer["as_written"]["report"]["step_time_s"], written["step_time_s"])
        rule = answer["rule_of_thumb"]
        self.assertEqual(rule["settings"]["strategy.zero_stage"], "1")
        self.assertEqual(rule["report"]["mesh"]["pp"], 1)  # tp comes first

    def test_open_fields_are_searched_and_others_stay(self):
        answer = self.search(HYBRID, "--set", "strategy.tp=[1,2]", "--set", "strategy.fsdp=auto",
                             "--set", "workload.micro_batch=1..2")
        for row in answer["best"]:
            self.assertIn(row["settings"].get("strategy.tp"), {"1", "2"})
            self.assertIn(row["settings"]["workload.micro_batch"], {"1", "2"})
            self.assertEqual(row["report"]["mesh"]["pp"], 1)
        self.assertIsNone(answer["as_written"])

    def test_kept_fields_stay(self):
        answer = self.search(HYBRID, "--keep", "strategy.tp", "--set", "strategy.tp=4", "--best", "5")
        self.assertEqual({r["report"]["mesh"]["tp"] for r in answer["best"]}, {4})
        wrong = plait("search", HYBRID, "--keep", "strategy.tpp")
        self.assertEqual(wrong.code, 2)
        self.assertIn("G017", wrong.err)

    def test_of_unlike_devices_each_has_its_price_and_power(self):
        mixed = ["--set", "cluster.preset=hgx-h100", "--set", "cluster.nodes=2", "--tokens", "1e11",
                 "--set", 'cluster.other_nodes=[{"nodes": [1, 1], "preset": "dgx-a100"}]']
        both = ["--price", "h100-sxm=3", "--price", "a100-80-sxm=1"]
        row = self.search(HYBRID, *mixed, *both, "--best", "1")["best"][0]
        hours = row["training_days"] * 24
        self.assertAlmostEqual(row["training_price"] / (hours * (8 * 3 + 8 * 1)), 1, places=6)
        joules = (8 * 700 + 8 * 400) / row["report"]["tokens_per_s"] * 1e9
        self.assertAlmostEqual(row["energy_kwh_per_billion_tokens"] / (joules / 3.6e6), 1, places=6)
        one = plait("search", HYBRID, *mixed, "--price", "h100-sxm=3")
        self.assertEqual(one.code, 2)
        self.assertIn("h100-sxm has a price and a100-80-sxm has none", one.err)

    def test_a_price_of_a_device_that_is_not_there_is_said_to_do_nothing(self):
        idle = self.run_ok("search", HYBRID, "--price", "l4=1", "--best", "1")
        self.assertIn("W001: --price l4=1 has no effect", idle.err)

    def test_the_front_has_all_that_no_other_beats(self):
        table = self.folder / "all.csv"
        answer = self.search(HYBRID, "--front", "--best", "1", "--csv", table)
        least = min(r["report"]["peak_memory_bytes"] for r in answer["front"])
        with open(table, newline="") as file:
            known = [int(r["memory_bytes"]) for r in csv.DictReader(file) if r["outcome"] == "fits"]
        self.assertGreaterEqual(min(known), 0.95 * least)

    def test_only_the_written_machine_has_the_layout_as_written(self):
        machines = ["-L", "cluster.nodes=1,2"]
        self.assertIsNotNone(self.search(HYBRID, *machines)["as_written"])
        self.assertIsNone(self.search(HYBRID, *machines, "--max-gpus", "8")["as_written"])

    def test_rows_have_the_network_that_was_searched(self):
        flow = self.search(HYBRID, "--network", "flow")
        self.assertEqual([r["report"]["step_time_s"] for r in flow["best"]],
                         [r["report"]["step_time_s"] for r in self.search(HYBRID)["best"]])

    def test_the_interleaved_schedule_among_others_has_chunks(self):
        asked = self.search(HYBRID, "--set", "strategy.fsdp=1", "--set", "strategy.tp=2",
                            "--set", "strategy.pp=4", "--best", "9",
                            "--set", "strategy.pipeline.schedule=[1f1b,interleaved]")
        schedules = [r["settings"]["strategy.pipeline.schedule"] for r in asked["best"]]
        self.assertEqual(set(schedules), {"1f1b", "interleaved"})

    def test_a_framework_limits_what_is_searched_as_a_whole(self):
        def kinds(*settings):
            answer = self.search(HYBRID, "--set", "framework=megatron-core", *settings)
            kinds = {r["settings"]["strategy.recompute.kind"] for r in answer["best"]
                     if "strategy.recompute.kind" in r["settings"]}
            return answer.get("framework", {}).get("limits", {}), kinds

        ops = "strategy.recompute=ops"
        limits, _ = kinds()
        self.assertEqual(limits["strategy.recompute.kind"], ["none", "selective", "modules", "full"])
        self.assertEqual(limits["strategy.pipeline.schedule"], ["1f1b", "interleaved"])
        limits, _ = kinds("--set", ops)  # what the scenario says itself stays
        self.assertIn("ops", limits["strategy.recompute.kind"])
        limits, found = kinds("--set", "strategy.recompute=[ops]", "--set", "strategy.dp=auto")
        self.assertEqual((limits, found), ({}, {"ops"}))
        self.assertNotIn("framework", self.search(HYBRID))
        text = self.run_ok("search", HYBRID, "--set", "framework=nanotron").out
        self.assertIn("limited to what nanotron has: pipeline.schedule gpipe, 1f1b;", text)

    def test_machines_are_ranked_by_the_objective(self):
        def machines(objective):
            answer = self.search(HYBRID, "-L", "cluster.nodes=1,2", "--objective", objective)
            return [r["machine"]["cluster.nodes"] for r in answer["best"]]

        self.assertEqual(machines("time")[0], "2")
        self.assertEqual(machines("gpus")[0], "1")

    def test_machines_together_have_the_best_of_each_alone(self):
        for objective, scored in (("time", lambda r: 1 / r["tokens_per_s"]),
                                  ("cost", lambda r: r["price_per_billion_tokens"]),
                                  ("gpus", lambda r: r["world_size"])):
            given = ["--objective", objective, "--price", "h100-sxm=2,h200-sxm=1.9", "--best", "3"]
            alone = []
            for preset in ("hgx-h200", "hgx-h100"):
                for nodes in ("2", "4"):
                    found = self.search(HYBRID, *given, "--set", f"cluster.preset={preset}",
                                        "--set", f"cluster.nodes={nodes}")["best"]
                    alone += [(scored(r["report"]), r["report"]["step_time_s"]) for r in found]
            both = self.search(HYBRID, *given, "-L", "cluster.preset=hgx-h200,hgx-h100",
                               "-L", "cluster.nodes=2,4")
            together = [(scored(r["report"]), r["report"]["step_time_s"]) for r in both["best"]]
            self.assertEqual(together, sorted(alone)[:3])
            counts = both["layouts"]
            self.assertEqual(counts["considered"],
                             sum(n for name, n in counts.items()
                                 if name not in ("considered", "gap")))

    def test_a_deadline_leaves_out_what_is_too_late(self):
        days = self.search(HYBRID, "--tokens", "1e12")["best"][0]["training_days"]
        in_time = self.search(HYBRID, "--tokens", "1e12", "--days", str(1.001 * days))
        self.assertTrue(in_time["best"])
        late = plait("search", HYBRID, "--tokens", "1e12", "--days", "9.9")
        self.assertEqual(late.code, 1)
        told = " ".join(late.out.split())
        self.assertIn(f"NOTHING IN TIME: the fastest that fits takes {days:.3g} days, not 9.90;", told)
        self.assertIn(f"not 9.90; {math.ceil(16 * days / 9.9)} GPUs as fast as its 16 would", told)

    def test_a_deadline_is_of_the_tokens_that_the_scenario_trains_on(self):
        trained = [HYBRID, "--set", "training.tokens=1e12"]
        days = self.search(*trained, "--front")["front"][0]["training_days"]
        in_time = self.search(*trained, "--front", "--deadline", str(1.05 * days))
        for row in [*in_time["best"], *in_time["front"]]:
            self.assertLessEqual(row["training_days"], 1.05 * days)
        none = plait("search", HYBRID, "--deadline", "9")
        self.assertEqual(none.code, 2)
        self.assertIn("G001", none.err)
        self.assertIn("training.tokens", none.err)

    def test_machines_that_are_all_too_large_are_said_to_be(self):
        none = plait("search", HYBRID, "--max-gpus", "8")
        self.assertEqual(none.code, 1)
        self.assertIn("NO MACHINE OF AT MOST 8 GPUS: the smallest has 16", none.out)
        self.assertIn("llama-3.1-8b-16xh100-hybrid", none.out)

    def test_prices_are_of_devices_that_there_are(self):
        wrong = plait("search", HYBRID, "--price", "h100-sxn=2.5")
        self.assertEqual(wrong.code, 2)
        self.assertIn("G024", wrong.err)
        self.assertIn("h100-sxm", wrong.err)

    def test_a_price_with_a_comma_is_no_price(self):
        for prices in (["2,50"], ["2", "--price", "3"]):
            wrong = plait("search", HYBRID, "--price", *prices)
            self.assertEqual(wrong.code, 2)
            self.assertIn("error[G024]: --price has 2 prices of any device: 2 and ", wrong.err)

    def test_machines_are_ranked_by_cost_where_all_have_a_price(self):
        both = ["search", HYBRID, "-L", "cluster.preset=hgx-h100,hgx-h200", "--objective", "cost"]
        one = plait(*both, "--price", "h100-sxm=2")
        self.assertEqual(one.code, 2)
        self.assertIn("h200-sxm has none", one.err)
        # An H200 is faster by less than a tenth.
        for price, cheapest in (("1", "hgx-h200"), ("4", "hgx-h100")):
            answer = self.run_ok(*both, "--price", f"h100-sxm=2,h200-sxm={price}", "--format", "json")
            self.assertEqual(answer.json()["best"][0]["machine"]["cluster.preset"], cheapest)

    def test_energy_is_that_of_all_devices_for_as_long_as_it_takes(self):
        for row in self.search(HYBRID, "--objective", "energy", "--best", "2")["best"]:
            # 16 GPUs of 0.7 kW.
            hours = 1e9 / row["report"]["tokens_per_s"] / 3600
            self.assertAlmostEqual(row["energy_kwh_per_billion_tokens"], 16 * 0.7 * hours, places=6)
        self.assertIn(" kWh/1e9", self.run_ok("search", HYBRID, "--objective", "energy").out)

    def test_only_what_changes_is_set(self):
        best = self.search(HYBRID, "--best", "1", "--keep", "strategy.recompute.kind",
                           "--keep", "strategy.pp")["best"][0]
        self.assertEqual([p for p in best["settings"] if p.startswith("strategy.pipeline.")], [])
        self.assertEqual(self.run_with(HYBRID, best["settings"])["step_time_s"],
                         best["report"]["step_time_s"])

    def test_as_written_is_on_the_machine_of_the_scenario(self):
        answer = self.search(HYBRID, "-L", "cluster.nodes=1,2,4", "--best", "1")
        self.assertEqual(answer["as_written"]["machine"], {"cluster.nodes": "2"})
        self.assertEqual(answer["cluster"], "3 machines of 8 to 32 GPUs")

    def test_a_layout_that_does_not_fit_is_said_not_to(self):
        text = self.run_ok("search", HYBRID, "--set", "workload.micro_batch=2", "--set",
                           "strategy.recompute=none").out
        written = next(line for line in text.splitlines() if line.startswith("as written"))
        self.assertIn("NO", written.split())

    def test_no_layout_that_is_reported_beats_the_front_or_has_less_memory(self):
        answer = self.search(HYBRID, "--front", "--best", "20")
        burdens = [(r["report"]["step_time_s"], r["report"]["peak_memory_bytes"])
                   for r in answer["front"]]
        for row in answer["best"]:
            step, memory = row["report"]["step_time_s"], row["report"]["peak_memory_bytes"]
            self.assertTrue(any(s <= step and m <= memory for s, m in burdens), row["layout"])
        self.assertEqual(answer["front_memory_step"], 0.05)
        self.assertTrue(answer["front_complete"])

    def test_each_point_of_the_front_needs_less_memory(self):
        front = [r["report"] for r in self.search(HYBRID, "--front")["front"]]
        self.assertGreater(len(front), 2)
        for a, b in zip(front, front[1:]):
            self.assertLess(b["peak_memory_bytes"], a["peak_memory_bytes"])
            self.assertGreaterEqual(b["step_time_s"], a["step_time_s"])

    def test_the_front_is_drawn(self):
        picture = self.folder / "front.svg"
        front = self.search(HYBRID, "--svg", picture)["front"]
        texts = [t.text for t in ElementTree.parse(picture).iter() if t.tag.endswith("text")]
        self.assertIn("rule of thumb", texts)
        self.assertGreater(len(front), 2)

    def test_no_point_of_the_front_is_beaten_by_another(self):
        answer = self.search(HYBRID, "--front", "-L", "cluster.nodes=1,2", "--price", "2.5")

        def burdens(row):
            r = row["report"]
            return (1 / r["tokens_per_s"], r["peak_memory_bytes"], r["world_size"],
                    r["price_per_billion_tokens"])

        front = [burdens(row) for row in answer["front"]]
        self.assertEqual({b[2] for b in front}, {8, 16})
        self.assertEqual(front, sorted(front, key=lambda b: b[0]))
        for a in front:
            for b in front:
                self.assertFalse(a != b and all(x <= y for x, y in zip(a, b)))

    def test_days_and_price_of_a_training(self):
        answer = self.search(HYBRID, "--tokens", "1e12", "--price", "h100-sxm=3,a100-80-sxm=1")
        for row in answer["best"]:
            whole = row["report"]["training"]
            seconds = whole["total_s"]
            steps = 1e12 / row["report"]["tokens_per_s"]
            self.assertAlmostEqual(whole["steps_s"], steps, delta=row["report"]["step_time_s"])
            self.assertAlmostEqual(row["training_days"], seconds / 86400, delta=1e-9 * seconds)
            # 16 GPUs at 3 an hour.
            self.assertAlmostEqual(row["training_price"], seconds / 3600 * 16 * 3,
                                   delta=1e-6 * seconds)
        text = self.run_ok("search", HYBRID, "--tokens", "1e12", "--price", "3").out
        self.assertIn(" days", text)
        self.assertIn(" price", text)
        self.assertIn("G024", plait("search", HYBRID, "--price", "cheap").err)

    def test_the_best_layout_is_exported(self):
        answer = self.search(HYBRID, "--export", "megatron-core,accelerate", "--export-to",
                             self.folder / "out")
        words = [w for path, value in answer["best"][0]["settings"].items()
                 for w in ("--set", f"{path}={value}")]
        for dialect, suffix in (("megatron-core", "args"), ("accelerate", "yaml")):
            written = self.folder / "out" / f"llama-3.1-8b-16xh100-hybrid.{dialect}.{suffix}"
            self.assertEqual(written.read_text(encoding="utf-8"),
                             self.run_ok("export", HYBRID, *words, "--to", dialect).out)

    def test_a_name_is_no_path(self):
        self.search(HYBRID, "--set", "name=../../a b/.x", "--export", "accelerate", "--export-to",
                    self.folder / "in" / "out", "--budget", "1")
        self.assertEqual([p.name for p in (self.folder / "in").rglob("*.yaml")],
                         ["_._.._a_b_.x.accelerate.yaml"])

    def test_experts_are_searched(self):
        axes = [w for a in ("ep", "dp", "fsdp") for w in ("--set", f"strategy.{a}=auto")]
        answer = self.search(MIXTRAL, *axes)
        best = answer["best"][0]
        # 16 / ep ranks into dp x fsdp, but all of them fsdp, which is all of them dp: 4 + 3 + 2 + 1.
        self.assertEqual(answer["layouts"]["considered"], 10)
        report = self.run_with(MIXTRAL, best["settings"])
        self.assertEqual(report["step_time_s"], best["report"]["step_time_s"])
        written = self.run_with(MIXTRAL, {})
        self.assertLessEqual(report["step_time_s"], written["step_time_s"])

    def test_megatron_splits_layers_with_experts_only_beside_sequence_parallelism(self):
        opened = [w for field in ("tp", "dp", "fsdp", "sequence_parallel")
                  for w in ("--set", f"strategy.{field}=auto")]
        answer = self.search(MIXTRAL, "--set", "framework=megatron-core", *opened, "--best", "9")
        self.assertEqual(answer["framework"]["limits"], {"strategy.sequence_parallel": ["true"]})
        split = [r["settings"] for r in answer["best"] if r["settings"].get("strategy.tp", "1") != "1"]
        self.assertTrue(split)
        for settings in split:
            self.assertEqual(settings["strategy.sequence_parallel"], "true")

    def test_torchtitan_splits_layers_only_beside_sequence_parallelism(self):
        """torchtitan/models/llama3/infra/parallelize.py, apply_tp."""
        opened = ("strategy.tp=[2,4]", "strategy.fsdp=auto", "strategy.dp=auto",
                  "strategy.sequence_parallel=auto")
        sets = [w for field in opened for w in ("--set", field)]
        answer = self.search(HYBRID, "--set", "framework=torchtitan", *sets, "--best", "9")
        self.assertEqual(answer["framework"]["limits"], {"strategy.sequence_parallel": ["true"]})
        self.assertTrue(answer["best"])
        for row in answer["best"]:
            self.assertEqual(row["settings"]["strategy.sequence_parallel"], "true")

    def test_layers_of_two_kinds_are_searched(self):
        first = {"model.first_dense_layers": "1"}
        axes = [w for a in ("ep", "dp", "fsdp") for w in ("--set", f"strategy.{a}=auto")]
        answer = self.search(MIXTRAL, "--set", "model.first_dense_layers=1", *axes)
        best = answer["best"][0]
        report = self.run_with(MIXTRAL, first | best["settings"])
        self.assertEqual(report["step_time_s"], best["report"]["step_time_s"])
        written = self.run_with(MIXTRAL, first)
        self.assertLessEqual(report["step_time_s"], written["step_time_s"])

    def test_layers_to_recompute_are_searched(self):
        answer = self.search(HYBRID, "--set", "strategy.recompute.kind=full",
                             "--set", "strategy.recompute.layers=[4,8,-1]", "--best", "3")
        layers = [r["settings"]["strategy.recompute.layers"] for r in answer["best"]]
        self.assertEqual(layers, ["4", "8", "-1"])

    def test_modules_to_recompute_are_kept_and_searched(self):
        modules = {"strategy.recompute.kind": "modules", "strategy.recompute.modules": '["norms"]'}
        sets = [w for path, value in modules.items() for w in ("--set", f"{path}={value}")]
        kept = self.search(HYBRID, *sets, "--set", "strategy.tp=[1,2]")
        self.assertEqual({r["settings"].get("strategy.recompute.kind", "modules")
                          for r in kept["best"]}, {"modules"})
        offered = self.search(HYBRID, *sets)
        self.assertGreater(offered["layouts"]["considered"],
                           self.search(HYBRID)["layouts"]["considered"])
        for row in (kept["best"][0], offered["best"][0]):
            report = self.run_with(HYBRID, modules | row["settings"])
            self.assertEqual(report["step_time_s"], row["report"]["step_time_s"])
            self.assertEqual(report["peak_memory_bytes"], row["report"]["peak_memory_bytes"])
        unnamed = plait("search", HYBRID, "--set", "strategy.recompute.kind=[none,modules]")
        self.assertEqual(unnamed.code, 2)
        self.assertIn("strategy.recompute.modules", unnamed.err)

    def test_threads_change_nothing(self):
        one = self.search(HYBRID, "-j", "1")
        two = self.search(HYBRID, "-j", "2")
        self.assertEqual(json.dumps(one).replace("-j 1", "-j 2"), json.dumps(two))

    def test_out_of_budget_the_answer_says_so(self):
        answer = self.search(HYBRID, "--budget", "1", "--best", "1")
        self.assertGreater(answer["layouts"]["undecided"], 0)
        exact = self.search(HYBRID, "--best", "1")["best"][0]["report"]["step_time_s"]
        found = answer["best"][0]["report"]["step_time_s"]
        self.assertGreaterEqual(exact, found * (1 - answer["layouts"]["gap"]) * (1 - 1e-12))

    def test_a_budget_bounds_the_front_too(self):
        table = self.folder / "all.csv"
        for budget in (3, 12):
            answer = self.search(HYBRID, "--budget", str(budget), "--best", "1", "--front", "--csv", table)
            with open(table, newline="") as file:
                rows = len(list(csv.DictReader(file)))
            layouts = answer["layouts"]
            self.assertEqual(layouts["simulated"] + layouts["simulated_for_front"], rows)
            self.assertLessEqual(rows, budget + 2)  # as written, and the rule of thumb
            self.assertFalse(answer["front_complete"])
            self.assertFalse(answer["interrupted"])
        whole = self.search(HYBRID, "--best", "1", "--front", "--csv", table)
        with open(table, newline="") as file:
            rows = len(list(csv.DictReader(file)))
        self.assertEqual(whole["layouts"]["simulated"] + whole["layouts"]["simulated_for_front"], rows)
        self.assertTrue(whole["front_complete"])

    def test_open_scenarios_are_not_run(self):
        for value in ("auto", "[1,2]", "1..4"):
            refused = plait("run", TINY, "--set", f"strategy.tp={value}")
            self.assertEqual(refused.code, 2)
            self.assertIn("S048", refused.err)
            self.assertIn("plait search", refused.err)

    def test_what_is_written_as_a_list_may_stand_for_a_section(self):
        answer = self.search(TINY, "--set", 'strategy.recompute=["none","full"]')
        kinds = {row["settings"]["strategy.recompute.kind"] for row in answer["best"]}
        self.assertLessEqual(kinds, {"none", "full"})
        refused = plait("run", TINY, "--set", 'strategy.recompute=["none","full"]')
        self.assertEqual(refused.code, 2)
        self.assertIn("S048", refused.err)

    def test_the_best_is_what_running_each_layout_finds(self):
        tp, fsdp, any_pp = [1, 2], [1, 2, 4, 8], [1, 2, 4]
        for pp, sets in (
                (any_pp, {}),
                (any_pp, {"zero_stage": 3, "zero_plus_plus": {"quantized_gradients": True}}),
                (any_pp, {"dp": 2, "zero_stage": 3, "zero_plus_plus": {"secondary_shard": True}}),
                ([2, 4], {"pipeline": {"first_stage_layers": 1}}),
                (any_pp, {"cp": 2, "context": {"kind": "hybrid", "ulysses": 2}})):
            with self.subTest(sets), tempfile.TemporaryDirectory() as folder:
                scenario = json.loads(TINY.read_text())
                scenario["model"] = {"preset": "tiny", "layers": 4}
                file = Path(folder) / "case.json"

                def written(**sizes):
                    scenario["strategy"] = {**sets, **sizes}  # pylint: disable=cell-var-from-loop
                    file.write_text(json.dumps(scenario))  # pylint: disable=cell-var-from-loop
                    return file  # pylint: disable=cell-var-from-loop

                runs = [plait("run", written(tp=t, pp=p, fsdp=f), "--format", "json")
                        for t in tp for p in pp for f in fsdp]
                steps = [r.json()["step_time_s"] for r in runs if r.code == 0]
                self.assertGreater(len(steps), 1)
                answer = self.search(written(tp=tp, pp=pp, fsdp=fsdp), "--best", "1")
                self.assertEqual(answer["best"][0]["report"]["step_time_s"], min(steps))

    def test_where_nothing_can_be_planned_it_says_why(self):
        refused = plait("search", TINY, "--set", "strategy.tp=[2]", "--set", "strategy.zero_stage=2",
                        "--set", "strategy.data.all_reduce=true")
        self.assertEqual(refused.code, 2)
        self.assertIn("S051", refused.err)

    def test_sizes_that_divide_nothing_are_told_from_layouts_that_do_not_fit(self):
        none = plait("search", TINY, "--set", "strategy.tp=[3]")
        self.assertEqual(none.code, 1)
        self.assertIn("NO LAYOUT: strategy.tp is to be 3 (of 8 key/value heads), and with all else as asked can be 2", " ".join(none.out.split()))
        self.assertNotIn("NOTHING FITS", none.out)

    def test_ranks_are_placed_by_axes(self):
        orders = ['["tp","cp","fsdp","dp","pp"]', '["tp","cp","pp","fsdp","dp"]']
        answer = self.search(HYBRID, "-L", f"placement.order={','.join(orders)}", "--best", "40",
                             "--set", "strategy.pp=[2,4]", "--set", "strategy.dp=auto")
        self.assertIn("in 2 variants", answer["cluster"])
        found = set()
        for row in answer["best"]:
            order = row["machine"]["placement.order"]
            found.add(order)
            report = self.run_with(HYBRID, {**row["machine"], **row["settings"]})
            self.assertEqual(report["step_time_s"], row["report"]["step_time_s"])
            self.assertEqual(report["placement"], row["report"]["placement"])
        self.assertEqual(found, set(orders))

    def test_stages_share_nodes(self):
        answer = self.search(HYBRID, "-L", "placement.stages_per_node=1,2", "--best", "20",
                             "--set", "strategy.pp=[2,4]", "--set", "strategy.dp=auto")
        for row in answer["best"]:
            report = self.run_with(HYBRID, {**row["machine"], **row["settings"]})
            self.assertEqual(report["step_time_s"], row["report"]["step_time_s"])
        self.assertIn("2 stages per node", {row["report"]["placement"] for row in answer["best"]})
        # Of one stage, as the file has it, none can be placed so.
        staged = self.search(HYBRID, "--set", "placement.stages_per_node=2", "--best", "1")
        self.assertIsNone(staged["as_written"])
        self.assertEqual(staged["best"][0]["report"]["placement"], "2 stages per node")

    def test_what_two_orders_place_alike_counts_once(self):
        answer = self.search(HYBRID, "--set", "placement.order=auto", "--set",
                             "strategy.pp=[1,2]", "--set", "strategy.dp=auto", "--best", "40")
        rows = [(tuple(row["settings"].items()), row["report"]["placement"])
                for row in answer["best"]]
        self.assertGreater(len(rows), 2)
        self.assertEqual(len(rows), len(set(rows)))
        self.assertGreater(len(rows), len({settings for settings, _ in rows}))

    def test_other_fields_may_list_values(self):
        listed = self.search(HYBRID, "--set", 'strategy.offload={"activations":["none","cpu"]}',
                             "--set", "strategy.tp=[1,2]", "--best", "400")
        asked = self.search(HYBRID, "-L", "strategy.offload.activations=none,cpu",
                            "--set", "strategy.tp=[1,2]", "--best", "400")
        self.assertEqual([row["report"]["step_time_s"] for row in listed["best"]],
                         [row["report"]["step_time_s"] for row in asked["best"]])
        self.assertEqual({row["machine"]["strategy.offload.activations"] for row in listed["best"]},
                         {"none", "cpu"})
        one = self.search(HYBRID, "-L", "strategy.offload.activations=cpu",
                          "--set", 'strategy.offload={"activations":["none","cpu"]}',
                          "--set", "strategy.tp=[1,2]")
        for row in one["best"]:
            self.assertEqual(row["machine"], {"strategy.offload.activations": "cpu"})

    def test_an_order_names_the_axes_that_are_searched(self):
        refused = plait("search", HYBRID, "--set", 'placement.order=["tp","dp","fsdp"]')
        self.assertEqual(refused.code, 2)
        self.assertIn("S050", refused.err)
        self.assertIn("add cp, pp", refused.err)

    def test_wrong_values_of_open_fields(self):
        for sets in (["strategy.tp=[1,two]"], ["strategy.pipeline.schedule=[1f1b,zigzag]"],
                     ["strategy.tp=[]"], ["strategy.tp=9..2"]):
            wrong = plait("search", TINY, *[w for s in sets for w in ("--set", s)])
            self.assertEqual(wrong.code, 2, sets)
            self.assertRegex(wrong.err, "expected: |cure: put words in double quotes")

    def test_a_file_may_leave_fields_open(self):
        scenario = json.loads(HYBRID.read_text())
        scenario["strategy"] = {"tp": "auto", "pp": [1, 2], "pipeline": "auto", "recompute": "auto"}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "open.json"
            file.write_text(json.dumps(scenario))
            answer = self.search(file)
            for row in answer["best"][:2]:
                report = self.run_with(file, row["settings"])
                self.assertEqual(report["step_time_s"], row["report"]["step_time_s"])

    def test_settings_undo_what_the_framework_says(self):
        sets = ["--set", "framework=deepspeed-liger", "--set", "strategy.zero_stage=[0,1]",
                "--set", "strategy.pp=1", "--set", "strategy.tp=1", "--set", "strategy.dp=8"]
        for row in self.search(TINY, *sets)["best"]:
            words = [w for path, value in row["settings"].items() for w in ("--set", f"{path}={value}")]
            report = self.run_ok("run", TINY, *sets[:2], *sets[4:], *words, "--format", "json").json()
            self.assertEqual(report["step_time_s"], row["report"]["step_time_s"])

    def test_a_model_too_large_for_the_machine(self):
        none = plait("search", HYBRID, "--set", "model=llama-3.1-405b", "--set", "cluster.nodes=1",
                     "--set", "strategy.dp=1")
        self.assertEqual(none.code, 1)
        self.assertIn("NOTHING FITS", none.out)

    def test_csv_has_a_row_for_each_layout(self):
        table = self.run_ok("search", HYBRID, "--best", "4", "--format", "csv").out
        rows = list(csv.DictReader(io.StringIO(table)))
        self.assertEqual([r["place"] for r in rows], ["1", "2", "3", "4"])
        self.assertIn("--set strategy.", rows[0]["settings"])

    def test_the_text_names_the_settings_and_the_proof(self):
        text = self.run_ok("search", HYBRID, "--best", "2").out
        for words in ("layouts:", "none is faster", "rule of thumb", "as written", "--set strategy."):
            self.assertIn(words, text)
        self.assertTrue(all(len(line) <= 100 for line in text.splitlines()[:-1]))


if __name__ == "__main__":
    unittest.main()
