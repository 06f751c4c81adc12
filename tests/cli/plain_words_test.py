"""What commands say of a scenario that is nearly right: the field, and what would do."""

import json
import unittest

from plait_command import SOURCE, CommandTest, changed, plait

BASE = {
    "model": {"layers": 16, "hidden": 1024, "ffn_hidden": 4096, "heads": 8, "vocab": 128},
    "workload": {"sequence_length": 512, "global_batch": 16, "micro_batch": 1},
    "strategy": {"pp": 4},
    "cluster": {"preset": "hgx-h100", "devices_per_node": 4},
}
MIXTURE = changed(changed(changed(BASE, "strategy", {"ep": 8}), "cluster", "hgx-h100"), "model",
                  dict(BASE["model"], experts=8, experts_per_token=2))
MIXED = SOURCE / "scenarios/mixed/llama-3.1-8b-16xh100-16xa100.json"
SERVERS = SOURCE / "scenarios/systems/parameter-server.json"


class PlainWords(CommandTest):
    def run_of(self, scenario, *sets, command="run"):
        words = [word for one in sets for word in ("--set", one)]
        return plait(command, self.file("s.json", json.dumps(scenario)), *words)

    def test_a_node_has_fewer_devices_without_the_links_of_the_others(self):
        for preset in ("mi300x-8", "dgx-v100", "h100-nvl-8", "gh200-4", "mi355x-8"):
            one = {"preset": preset, "node": {"devices": 1}}
            with self.subTest(preset):
                shown = plait("topology", "show", self.file("c.json", json.dumps({"cluster": one})))
                self.assertEqual((shown.code, shown.err), (0, ""))

    def test_the_fullest_rank_is_named_where_ranks_are_not_alike(self):
        self.assertRegex(plait("run", MIXED).out, r"on the fullest rank, \d+ \(.*(a100|h100)")
        apart = plait("run", SERVERS, "--set", "workload.global_batch=120", "--set",
                      'strategy={"dp":12,"parameter_server":{"servers":4,"dedicated":true}}').out
        self.assertRegex(apart, r"on the fullest rank, \d+ \(.*a (worker|server)\)")
        alike = self.run_of(BASE, "strategy.pp=1")
        self.assertIn("on each rank", alike.out)
        self.assertNotIn("on the fullest rank", alike.out)

    def test_what_is_executed_is_not_called_recomputed(self):
        out = self.run_of(BASE).out
        self.assertRegex(out, r"per GPU for the model, \S+ as executed")
        self.assertNotIn("with recomputation", out)

    def test_more_skew_than_there_can_be_is_told(self):
        for skew in (5, 1000):
            told = self.run_of(MIXTURE, f"workload.expert_skew={skew}").err
            self.assertIn("W001: workload.expert_skew counts as 4:", told)
        self.assertNotIn("W001", self.run_of(MIXTURE, "workload.expert_skew=4").err)

    def test_more_recomputed_layers_than_there_are_are_told(self):
        many = self.run_of(BASE, 'strategy.recompute={"kind":"full","layers":99}')
        self.assertIn("W001: strategy.recompute.layers", many.err)
        each = self.run_of(BASE, 'strategy.recompute={"kind":"full","every":99}')
        self.assertIn("W001: strategy.recompute has no effect: every is more than the model has layers",
                      each.err)

    def test_layers_that_do_not_divide_are_told_as_they_were_asked_for(self):
        one = self.run_of(BASE, "strategy.pp=1", "strategy.pipeline.first_stage_layers=3").err
        self.assertIn("16 layers, 3 of them on the first piece, cannot be shared evenly by 1 pipeline "
                      "piece (pp x chunks): 13 are left for 0 others", one)
        three = self.run_of(BASE, "cluster.devices_per_node=3", "strategy.pp=3").err
        self.assertIn("16 layers cannot be shared evenly by 3 pipeline pieces", three)
        self.assertNotIn("left for", three)

    def test_schedules_of_two_chunks_need_none_written(self):
        rows = plait("compare", self.file("s.json", json.dumps(BASE)), "-L",
                     "strategy.pipeline.schedule=1f1b,zb-v,dualpipe,v-half,interleaved", "--format", "json")
        candidates = rows.json()["candidates"]
        self.assertEqual([bool(c.get("report")) for c in candidates], [True] * 4 + [False])
        self.assertIn("needs at least 2 chunks", json.dumps(candidates[4]))
        written = self.run_of(BASE, "strategy.pipeline.schedule=zb-v", "strategy.pipeline.chunks=2")
        meant = self.run_of(BASE, "strategy.pipeline.schedule=zb-v")
        self.assertEqual(meant.out, written.out)
        one = self.run_of(BASE, "strategy.pp=1", "strategy.dp=4", "strategy.pipeline.schedule=zb-v").err
        self.assertIn("needs at least 2 stages", one)
        self.assertNotIn("chunks", one.split("expected")[0])

    def test_layers_that_are_gathered_ahead_are_part_of_the_layout(self):
        sharded = changed(BASE, "strategy", {"fsdp": 4})
        two = self.run_of(sharded, "strategy.fsdp_options.prefetch=2").out
        self.assertIn("prefetch 2", two)
        self.assertNotIn("prefetch", self.run_of(sharded).out)

    def test_changes_set_nothing_that_is_so_already(self):
        out = plait("run", self.file("s.json", json.dumps(BASE)), "--changes").out
        self.assertIn("strategy.pipeline.schedule=zb-h1", out)
        self.assertNotIn("strategy.pipeline.chunks=1", out)

    def test_a_file_is_a_file_whatever_it_is_called(self):
        name = self.file("n.xml", '<system version="1">\n</system>\n')
        told = plait("topology", "show", name).err
        self.assertNotIn("C001", told)
        self.assertIn("plait topology import", told)

    def test_a_range_may_have_a_unit(self):
        rows = plait("compare", self.file("s.json", json.dumps(BASE)), "-L",
                     "cluster.device.memory=20-80*2 GiB",
                     "--format", "json").json()["candidates"]
        self.assertEqual([row["report"]["memory"]["capacity_bytes"] >> 30 for row in rows], [20, 40, 80])


if __name__ == "__main__":
    unittest.main()
