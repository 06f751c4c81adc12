"""Every bundled scenario works with run, check and compare, and gives the same bytes twice."""

import re
import unittest

from plait_command import SCENARIOS, SOURCE, TINY, CommandTest, plait, read_scenario

ENOUGH = 14  # scenarios that the project promises at least


class Scenarios(CommandTest):
    def test_there_are_enough(self):
        self.assertGreaterEqual(len(SCENARIOS), ENOUGH)

    def test_each_says_what_it_shows(self):
        for path in SCENARIOS:
            with self.subTest(path.stem):
                self.assertGreater(len(read_scenario(path).get("comment", "")), 40)

    def test_run_and_check_agree_on_what_fits(self):
        for path in SCENARIOS:
            with self.subTest(path.stem):
                run = self.run_ok("run", path, "--format", "json")
                check = self.run_ok("check", path)
                report = run.json()
                self.assertEqual(run.code, 0 if report["fits"] else 1)
                self.assertEqual(check.code, run.code)
                self.assertGreater(report["step_time_s"], 0)

    def test_two_runs_give_the_same_bytes(self):
        """JSON has every number of the other formats, of which small scenarios are enough."""
        for path in SCENARIOS:
            small = path.parent.name in ("tiny", "side-by-side", "mistral")
            for form in ("text", "json", "csv") if small else ("json",):
                with self.subTest(path.stem, form=form):
                    first, second = (plait("run", path, "--format", form) for _ in range(2))
                    self.assertEqual(first, second)
                    self.assertTrue(first.out)

    def test_help_of_a_field(self):
        """A quantity may be an object with its source; so may what a quantity alone stands for."""
        for path, says in (("host.graphs", "CUDA graph"), ("host.launch_time", "issue one kernel"),
                           ("host", "waits_for_routing"), ("strategy.tp", "Ranks that split")):
            with self.subTest(path):
                self.assertIn(says, self.run_ok("run", SCENARIOS[0], "--set", path + "=help").out)

    def test_help_of_a_field_has_its_choices(self):
        """Also of fields that may be searched."""
        for path, says in (("strategy.pipeline.schedule", "one of +gpipe, 1f1b, .*, sequential"),
                           ("strategy.zero_stage", "type +integer\n +minimum +0\n +maximum +3"),
                           ("strategy.sequence_parallel", "type +boolean"),
                           ("workload.precision.weights", "one of +bf16, fp16"),
                           ("cluster.nodes", "type +integer\n +minimum +1")):
            with self.subTest(path):
                self.assertRegex(self.run_ok("run", TINY, "--set", path + "=help").out,
                                 r"\n  " + says)

    def test_help_of_a_field_has_its_value_in_the_scenario(self):
        """As stated, with its place; as filled in; and none where the scenario cannot be read."""
        def helps(*arguments):
            return self.run_ok(*arguments, "--set", "strategy.tp=help").out
        for command in ("run", "check", "plan", "compare", "realrun"):
            with self.subTest(command):
                self.assertRegex(helps(command, TINY), r"\n  default +1\n  scenario +2 \(.*tiny.json:6:22\)\n$")
        self.assertRegex(helps("run", TINY, "--set", "strategy.tp=1", "--set", "strategy.dp=4"),
                         r"\n  scenario +1 \(--set strategy.tp=1\)\n$")
        self.assertRegex(self.run_ok("run", TINY, "--set", "model.kv_heads=help").out,
                         r"\n  scenario +8\n$")
        self.assertNotIn("  scenario ", helps("run", TINY, "--set", "strategy.dp=7"))

    def test_check_tells_a_great_many_microbatches_from_few(self):
        """Memory is that of the whole plan; ops are a + b n of n sequences, as where all are counted."""
        many = ("--set", "workload.global_batch=16000")
        whole = self.run_ok("run", TINY, *many, "--unfold", "--format", "json").json()
        self.assertEqual(self.run_ok("check", TINY, *many, "--format", "json").json()["memory"], whole["memory"])

        def ops(batch):
            said = self.run_ok("check", TINY, "--set", f"workload.global_batch={batch}").out
            return int(re.search(r"plan +([0-9,]+) ops", said)[1].replace(",", ""))
        self.assertEqual(ops(16000000), ops(1600) + 9999 * (ops(3200) - ops(1600)))

    def test_compare_works_on_each(self):
        for path in SCENARIOS:
            with self.subTest(path.stem):
                result = self.run_ok("compare", path, path)
                self.assertTrue(result.out)

    def test_what_is_varied_is_predicted_as_if_run_alone(self):
        """Hosts and kernels of frameworks differ, machines and calibrations too: nothing is carried over."""
        scenario = SOURCE / "scenarios/llama/llama-3.1-8b-8xh100-fsdp.json"
        for field, values in (("framework", ("pytorch", "torchtitan", "llm-foundry")),
                              ("cluster.variation", ("0", "0.2")), ("kernels.norm", ("fused", "eager"))):
            with self.subTest(field):
                varied = self.run_ok("compare", scenario, "-L", f"{field}={','.join(values)}", "--format", "json")
                runs = [self.run_ok("run", scenario, "--set", f"{field}={v}", "--format", "json") for v in values]
                alone = [run.json()["step_time_s"] for run in runs]
                self.assertEqual([c["report"]["step_time_s"] for c in varied.json()["candidates"]], alone)
                self.assertEqual(len(set(alone)), len(values), "or the test shows nothing")


if __name__ == "__main__":
    unittest.main()
