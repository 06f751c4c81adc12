"""The table of systems: every row has a preset and a page, every preset a row, and every training
preset, shrunk to a few ranks and a tiny model, computes what the unsharded model computes."""

import json
import re
import unittest

from plait_command import SOURCE, CommandTest, plait, read_scenario

AXES = ("pp", "dp", "fsdp", "cp", "ep", "tp")
MIXTURES = ("mixtral", "qwen3", "deepseek")
FEW_EXPERTS = {"experts": 4, "experts_per_token": 2, "expert_ffn_hidden": 32}
LATENTS = {"head_dim": 24, "rope_head_dim": 8, "v_head_dim": 16, "q_lora_rank": 24,
           "kv_lora_rank": 16, "first_dense_layers": 1, "shared_ffn_hidden": 32}
TINY_GPT = ("gpt", "megatron")  # learned positions, LayerNorm, biases, tied embeddings


def rows():
    """(system, preset, page, what is split), as `plait list strategies` prints them."""
    lines = plait("list", "strategies").out.splitlines()
    return [tuple(re.split(r" {2,}", line)) for line in lines]


def presets():
    return {row[1]: read_scenario(SOURCE / row[1]) for row in rows()}


def trains(preset):
    return "global_batch" in preset.get("workload", {})


def shrunk(preset):
    """The same strategy on at most two ranks an axis, two chunks and a tiny model."""
    strategy = dict(preset["strategy"])
    for axis in AXES:
        if axis in strategy:
            strategy[axis] = min(strategy[axis], 2)
    if "stage_tp" in strategy:  # of two stages, the first and the last
        strategy["stage_tp"] = [min(tp, 2) // (i + 1) for i, tp in enumerate(strategy["stage_tp"][:2])]
    pipeline = strategy.get("pipeline", {})
    if isinstance(pipeline, str):
        pipeline = {"schedule": pipeline}
    pipeline = {key: value for key, value in pipeline.items() if not key.endswith("_layers")}
    if pipeline.get("chunks", 1) > 1:
        pipeline["chunks"] = 2
    strategy["pipeline"] = pipeline
    if isinstance(strategy.get("context"), dict):
        strategy["context"] = {**strategy["context"],
                               "ulysses": min(strategy["context"]["ulysses"], 2)}
    world = 1
    for axis in AXES:
        world *= strategy.get(axis, 1)
    world *= sum(strategy.get("stage_tp", [1]))
    if "parameter_server" in strategy:
        servers = dict(strategy["parameter_server"])
        servers["servers"] = min(servers["servers"], 2)
        strategy["parameter_server"] = servers
        world += servers["servers"] if servers.get("dedicated") else 0
    name = preset["model"] if isinstance(preset["model"], str) else preset["model"]["preset"]
    experts = FEW_EXPERTS if name.startswith(MIXTURES) else {}
    latents = LATENTS if name.startswith("deepseek") else {}
    modules = {} if isinstance(preset["model"], str) else {
        key: value for key, value in preset["model"].items() if key == "mtp_layers"}
    return {
        **preset,
        "name": preset["name"] + "-shrunk",
        "model": {"preset": "tiny-gpt" if name.startswith(TINY_GPT) else "tiny", "layers": 4,
                  **experts, **latents, **modules},
        "workload": {**preset["workload"], "sequence_length": 32, "micro_batch": 1,
                     "global_batch": 4 * strategy.get("dp", 1) * strategy.get("fsdp", 1) *
                                     strategy.get("ep", 1)},
        "strategy": strategy,
        "cluster": {"preset": "cpu-host", "devices_per_node": world},
    }


class Systems(CommandTest):
    def test_each_row_has_a_preset_and_a_page(self):
        for system, preset, page, _ in rows():
            with self.subTest(system):
                self.assertTrue((SOURCE / preset).is_file(), preset)
                self.assertTrue((SOURCE / page).is_file(), page)

    def test_each_preset_is_named_once(self):
        named = [row[1] for row in rows()]
        there = [path.relative_to(SOURCE).as_posix()
                 for path in sorted((SOURCE / "scenarios" / "systems").glob("*.json"))]
        self.assertEqual(sorted(named), there)

    def test_each_page_names_its_presets(self):
        for system, preset, page, _ in rows():
            with self.subTest(system):
                self.assertIn(preset.rsplit("/", 1)[1], (SOURCE / page).read_text("utf-8"))

    def test_each_training_preset_computes_what_the_unsharded_model_does(self):
        for path, preset in presets().items():
            if not trains(preset):
                continue
            with self.subTest(path):
                small = self.file("small.json", json.dumps(shrunk(preset)))
                result = self.realrun_ok(small, "--verify", "--precision", "fp64")
                self.assertIn("SAME", result.out)


if __name__ == "__main__":
    unittest.main()
