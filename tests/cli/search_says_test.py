"""What plait search says beside the best: what holds, why layouts are refused, what is proven."""

import json
import unittest

from plait_command import SOURCE, TINY, CommandTest, plait, read_scenario

HYBRID = SOURCE / "scenarios" / "llama" / "llama-3.1-8b-16xh100-hybrid.json"
MISTRAL = SOURCE / "scenarios" / "mistral" / "mistral-7b-8xa100-fsdp.json"
NO_PROCESSOR = ("--set", 'cluster.node.processor=""')
BERT = SOURCE / "scenarios" / "bert" / "bert-large-8xv100.json"
MIXTRAL = SOURCE / "scenarios" / "systems" / "megatron-moe-mixtral-8x7b.json"
ASYMMETRIC = SOURCE / "scenarios" / "systems" / "hexgen-asymmetric.json"


def words_of(settings):
    return [w for path, value in settings.items() for w in ("--set", f"{path}={value}")]


class SearchSays(CommandTest):
    def search(self, *arguments):
        return self.run_ok("search", *arguments, "--format", "json").json()

    def expect_run_predicts(self, row, file, *sets):
        words = words_of({**row["machine"], **row["settings"]})
        report = self.run_ok("run", file, *sets, *words, "--format", "json").json()
        for key in ("step_time_s", "peak_memory_bytes"):
            self.assertEqual(report[key], row["report"][key], key)

    def test_rows_have_what_the_framework_does_by_their_sizes(self):
        # The profiles with habits that go by the split, and settings under which they matter:
        # shards of weights, sums over replicas and gradients that are not reduced meanwhile.
        short = ("--set", "strategy={}", "--set", "workload.sequence_length=2048")
        for framework, *sets in (
            ("deepspeed-zero3", "strategy.zero_stage=[1,3]", "strategy.fsdp=[8]",
             "strategy.dp=[2]"),
            ("megatron-core", "strategy.zero_stage=[1,3]", "strategy.fsdp=[8]", "strategy.dp=[2]"),
            ("megatron-lm", "strategy.zero_stage=[2,3]", "strategy.fsdp=[8]", "strategy.dp=[2]"),
            ("megatron-core", "strategy.zero_stage=[3]"),
            ("oneflow", "strategy.tp=[1,2]", "strategy.dp=auto", "strategy.recompute=full"),
            ("oneflow", "strategy.tp=2", "strategy.recompute=[full]"),
        ):
            words = [w for s in (f"framework={framework}", *sets) for w in ("--set", s)]
            rows = self.search(HYBRID, *short, *words)["best"]
            self.assertTrue(rows, words)
            for row in rows:
                with self.subTest(words=words, settings=row["settings"]):
                    self.expect_run_predicts(row, HYBRID, *short, *words)

    def test_sizes_that_divide_nothing_with_the_others_are_named(self):
        asked = [w for s in ("strategy.dp=4", "strategy.tp=[2,8]", "strategy.pp=[2,4]")
                 for w in ("--set", s)]
        words = (HYBRID, "--set", "strategy={}", *asked, "--keep", "strategy.dp")
        self.assertEqual(self.search(*words)["untried"],
                         {"strategy.tp": ["8"], "strategy.pp": ["4"]})
        self.assertIn("not tried, as they divide nothing with the other sizes: tp 8; pp 4\n",
                      self.run_ok("search", *words).out)
        tried = (HYBRID, "--set", "strategy={}", "--set", "strategy.tp=[2,4]")
        self.assertNotIn("untried", self.search(*tried))

    def test_what_transformers_has_accelerate_can_say(self):
        sets = [w for s in ("framework=transformers", "strategy={}", "cluster.nodes=1")
                for w in ("--set", s)]
        answer = self.run_ok("search", HYBRID, *sets, "--best", "3", "--export", "accelerate",
                             "--export-to", self.folder, "--format", "json").json()
        self.assertEqual(answer["framework"]["limits"]["strategy.pp"], ["1"])
        self.assertIn("fsdp_version: 2", next(self.folder.glob("*.yaml")).read_text(encoding="utf-8"))

    def test_what_would_fit_takes_what_it_says(self):
        # DeepSpeed keeps a shard of the weights beside the optimizer's where weights are sharded.
        sets = [w for s in ("framework=deepspeed-zero3", "strategy={}", "strategy.zero_stage=1",
                            "workload.sequence_length=5120") for w in ("--set", s)]
        none = plait("check", HYBRID, *sets, "--format", "json")
        self.assertEqual(none.code, 1, none.err)
        cures = none.json()["changes_that_fit"]
        self.assertIn("3", [c["set"].get("strategy.zero_stage") for c in cures])
        for cure in cures:
            words = words_of(cure["set"])
            fits = self.run_ok("check", HYBRID, *sets, *words, "--format", "json").json()
            self.assertEqual(fits["peak_memory_bytes"], cure["peak_memory_bytes"], cure)

    def test_a_value_that_is_searched_all_the_same_is_told(self):
        told = plait("search", TINY, "--set", "strategy.tp=4", "--best", "1").err
        self.assertIn("W022: strategy.tp of --set", told)
        self.assertIn("--keep strategy.tp", told)
        for more in (["--keep", "strategy.tp"], ["--set", "strategy.pp=auto"]):
            told = plait("search", TINY, "--set", "strategy.tp=2", *more, "--best", "1").err
            self.assertNotIn("W022", told)
        none = plait("search", TINY, "--set", "workload.global_batch=32", "--best", "1").err
        self.assertNotIn("W022", none)

    def test_fields_without_effect_in_the_best_are_told_but_for_those_that_are_searched(self):
        idle = ("--set", "kernels.softmax=eager", "--set", "strategy.pipeline.schedule=interleaved")
        told = plait("search", HYBRID, *idle, "--set", "strategy.tp=[1]", "--best", "2").err
        self.assertEqual(told, "warning: W001: kernels.softmax has no effect: attention is fused\n")
        fewer = ("--set", "workload.flash_attention=false", "--set", "strategy.tp=[1]")
        none = plait("search", HYBRID, *idle[:2], *fewer, "--best", "1").err
        self.assertNotIn("W001", none)

    def test_a_field_that_matters_to_one_of_the_best_is_not_told(self):
        sets = ("--set", "kernels.sequence=eager", "--set", "strategy.sequence_parallel=auto",
                "--set", "strategy.fsdp=auto")
        one = plait("search", HYBRID, *sets, "--set", "strategy.tp=[1]", "--best", "1").err
        self.assertIn("W001: kernels.sequence has no effect: sequence_parallel is false", one)
        both = plait("search", HYBRID, *sets, "--set", "strategy.tp=[1,2]", "--best", "50").err
        self.assertNotIn("W001", both)

    def test_grouped_heads_that_keep_layouts_away_are_named(self):
        none = plait("search", HYBRID, "--set", "strategy.tp=16", "--keep", "strategy.tp").out
        self.assertIn("strategy.tp is to be 16 (of 8 key/value heads), and", " ".join(none.split()))

    def test_a_searched_field_that_is_varied_holds_in_each_variant(self):
        both = self.search(HYBRID, "-L", "strategy.tp=2,4", "--best", "3")
        alone = [row["report"]["step_time_s"] for tp in ("2", "4") for row in self.search(
            HYBRID, "--set", f"strategy.tp={tp}", "--keep", "strategy.tp", "--best", "3")["best"]]
        self.assertEqual([row["report"]["step_time_s"] for row in both["best"]], sorted(alone)[:3])
        for row in both["best"]:
            self.assertEqual(row["settings"]["strategy.tp"], str(row["report"]["mesh"]["tp"]))
            self.expect_run_predicts(row, HYBRID)
        self.assertIsNone(both["as_written"])  # of which tp is 1

    def test_choices_of_a_field_are_told(self):
        told = self.run_ok("search", HYBRID, "--set", "strategy.tp=help").out
        self.assertEqual(told, self.run_ok("run", HYBRID, "--set", "strategy.tp=help").out)
        self.assertIn('  searched     as "auto", a list [1,2] or a range "1..8"\n', told)
        self.assertIn('  searched     as "auto" or a list\n', self.run_ok(
            "run", HYBRID, "--set", "strategy.pipeline.schedule=help").out)
        self.assertNotIn("searched", self.run_ok(
            "run", HYBRID, "--set", "workload.global_batch=help").out)

    def test_what_fixes_a_field_leaves_it_not_open(self):
        for value in ("auto", "2..8"):
            refused = plait("search", HYBRID, "-L", f"strategy.tp={value}")
            self.assertEqual(refused.code, 2)
            self.assertIn(f"error[G004]: -L strategy.tp={value} fixes strategy.tp at no value",
                          refused.err)
            self.assertIn(f"--set strategy.tp={value} lets the search choose", refused.err)

    def test_several_values_are_a_list_or_a_range(self):
        for value in ("2,4", "2-8", "2-8*2", "2, 4, 8", "2:8"):
            refused = plait("search", HYBRID, "--set", f"strategy.tp={value}")
            self.assertEqual(refused.code, 2)
            self.assertIn(f'error[S049]: strategy.tp cannot be "{value}"', refused.err)
            self.assertIn('a list [2,4,8], a range "2..8", or "auto"', refused.err)
        many = json.loads(json.dumps(read_scenario(HYBRID)))
        many["strategy"]["tp"] = ",".join(["1"] * 200000)
        refused = plait("search", self.file("many.json", json.dumps(many)))
        self.assertEqual(refused.code, 2)
        self.assertIn("error[S049]: strategy.tp cannot be", refused.err)

    def test_a_field_to_keep_that_is_none_is_likened_to_one(self):
        for kept, cure in {"tp": 'did you mean "strategy.tp"?',
                           "strategy.tpp": 'did you mean "strategy.tp"',
                           "strategy.tp=8": "--set strategy.tp=8 --keep strategy.tp"}.items():
            refused = plait("search", HYBRID, "--keep", kept)
            self.assertIn("error[G017]", refused.err)
            self.assertIn(cure, refused.err)

    def test_a_section_that_is_varied_holds_what_its_text_stands_for(self):
        both = self.search(HYBRID, "-L", "strategy.recompute=none,full", "--best", "2",
                           "--set", "strategy.fsdp=16", "--keep", "strategy.fsdp")
        for row in both["best"]:
            self.assertIn(row["settings"]["strategy.recompute.kind"], {"none", "full"})

    def test_layouts_that_cannot_be_planned_are_refused_for_a_reason(self):
        both = ("-L", "strategy.offload.optimizer=none,cpu", "--best", "2", *NO_PROCESSOR)
        reasons = self.search(MISTRAL, *both)["refusals"]
        self.assertEqual([r["code"] for r in reasons], ["C014", "S101"])
        self.assertEqual({r["machine"]["strategy.offload.optimizer"] for r in reasons}, {"cpu"})
        text = self.run_ok("search", MISTRAL, *both).out
        self.assertIn(f"{reasons[0]['layouts']} of optimizer cpu cannot be planned: C014", text)

    def test_a_variant_of_which_nothing_can_be_planned_is_said_to_be_one(self):
        few = ("--set", "strategy.tp=[1,2]", "--set", "strategy.fsdp=1", "--set",
               "strategy.zero_stage=1")
        text = self.run_ok("search", MISTRAL, "-L", "strategy.offload.optimizer=none,cpu", *few,
                           *NO_PROCESSOR).out
        self.assertIn("none of optimizer cpu that may be among the best can be planned: C014",
                      " ".join(text.split()))

    def test_what_refuses_every_layout_is_the_answer(self):
        refused = plait("search", MISTRAL, "--set", "strategy.offload.optimizer=cpu", "--set",
                        "strategy.tp=[1,2]", "--set", "strategy.fsdp=1", *NO_PROCESSOR)
        self.assertEqual(refused.code, 2)
        self.assertIn("error[C014]", refused.err)

    def test_what_is_written_need_not_be_planned(self):
        host = ("--set", "strategy.offload.optimizer=cpu", "--set",
                "cluster.processor=epyc-7742-x2")
        self.assertIn("S101", plait("run", MISTRAL, *host).err)
        answer = self.search(MISTRAL, *host, "--best", "1", "--keep", "strategy.tp")
        self.assertIsNone(answer["as_written"])
        self.assertTrue(answer["best"])

    def test_fields_that_might_be_searched_and_are_not_are_named(self):
        held = self.search(HYBRID, "--best", "1")["held"]
        self.assertEqual(held["strategy.tensor.overlap"], "weight-grad")
        self.assertEqual(held["strategy.fsdp_options.prefetch"], "1")
        self.assertNotIn("strategy.expert_dispatch", held)  # it has no experts
        text = self.run_ok("search", HYBRID, "--best", "1").out
        self.assertIn("held as written", text)
        varied = self.search(HYBRID, "-L", "strategy.tensor.overlap=none,ring", "--best", "1")
        self.assertNotIn("strategy.tensor.overlap", varied["held"])

    def test_auto_stands_for_several_values_of_fields_that_are_seldom_searched(self):
        def considered(**values):
            sets = {"strategy.zero_stage": "[3]", **values}
            return self.search(HYBRID, *words_of(sets), "--best", "1")["layouts"]["considered"]

        one = considered()
        self.assertEqual(considered(**{"strategy.fsdp_options.prefetch": "auto"}), 4 * one)
        self.assertEqual(considered(**{"strategy.keep_weight_shard": "auto"}), 2 * one)

    def test_what_goes_with_another_kind_of_recomputation_is_reset(self):
        for recompute in ('{"kind":"ops","keep":["qkv","out"]}', '{"kind":"full","every":2}'):
            sets = ("--set", f"strategy.recompute={recompute}")
            best = self.search(HYBRID, *sets, "--best", "1")["best"][0]
            self.assertEqual(best["settings"]["strategy.recompute.kind"], "none")
            self.expect_run_predicts(best, HYBRID, *sets)

    def test_the_scenario_is_the_best_where_none_that_is_searched_is_better(self):
        answer = self.search(ASYMMETRIC, "--best", "2")
        self.assertEqual(answer["best"][0]["report"], answer["as_written"]["report"])
        self.assertEqual(answer["best"][0]["settings"], {})
        self.assertIn("the scenario is the best", self.run_ok("search", ASYMMETRIC).out)

    def test_out_of_budget_the_places_behind_a_proven_best_are_said_to_be_open(self):
        layouts = self.search(HYBRID, "--budget", "10")["layouts"]
        self.assertGreater(layouts["undecided"], 0)
        self.assertEqual(layouts["gap"], 0)
        self.assertGreater(layouts["gap_of_last"], 0)
        text = " ".join(self.run_ok("search", HYBRID, "--budget", "10").out.split())
        self.assertIn("undecided; the best is proven, places 2 to 10 may be up to", text)

    def test_the_rule_of_thumb_has_what_the_framework_has_and_cuts_no_more_than_needed(self):
        rule = self.search(BERT, "--best", "1")["rule_of_thumb"]["report"]
        self.assertEqual((rule["mesh"]["tp"], rule["mesh"]["pp"]), (1, 1))
        self.assertNotIn("sequence parallel", rule["layout"])

    def test_of_different_batches_the_time_per_token_counts(self):
        batches = ("-L", "workload.global_batch=32,64", "--objective", "gpus", "--best", "4")
        rates = [r["report"]["tokens_per_s"] for r in self.search(HYBRID, *batches)["best"]]
        self.assertEqual(rates, sorted(rates, reverse=True))
        text = self.run_ok("search", HYBRID, *batches).out
        self.assertIn("steps are of different batches", text)

    def test_energy_needs_a_power(self):
        refused = plait("search", HYBRID, "--objective", "energy", "--set", "cluster.device.power=0 W")
        self.assertEqual(refused.code, 2)
        self.assertIn("G024", refused.err)

    def test_the_network_is_named(self):
        self.assertEqual(self.search(HYBRID, "--network", "flow", "--best", "1")["network"], "analytic")
        text = self.run_ok("search", HYBRID, "--network", "flow", "--best", "1").out
        self.assertIn("simulated with the analytic network", text)

    def test_settings_of_the_best_draw_no_warning(self):
        row = self.search(MIXTRAL, "--best", "1")["best"][0]
        words = words_of(row["settings"])
        self.assertEqual(plait("run", MIXTRAL, *words).err.count("W00"),
                         plait("run", MIXTRAL).err.count("W00"))
        self.expect_run_predicts(row, MIXTRAL)

    def test_a_field_that_is_held_is_not_said_to_be_searched(self):
        refused = plait("search", HYBRID, "--keep", "strategy.fsdp_options.prefetchh").err
        self.assertIn("G017", refused)
        self.assertNotIn("prefetch,", refused)

    def test_a_list_of_prices_is_one_word(self):
        self.assertNotIn("PRICE ...", plait("search", "--help").out)


if __name__ == "__main__":
    unittest.main()
