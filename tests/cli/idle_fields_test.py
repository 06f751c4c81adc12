"""A field either changes the prediction, is refused, or is said to have no effect (W001)."""

import copy
import json
import unittest

from plait_command import CommandTest, changed, plait

HGX = {"preset": "hgx-h100", "nodes": 2}
MIXTURE = {"preset": "qwen3-30b-a3b", "layers": 8}


def scenario(model, strategy, cluster=HGX, **workload):
    return {"model": {"preset": model} if isinstance(model, str) else model, "strategy": strategy, "cluster": cluster,
            "workload": {"sequence_length": 8192, "global_batch": 64, **workload}}


BASES = {
    "one device": scenario("llama-3.2-1b", {}, {**HGX, "nodes": 1, "devices_per_node": 1},
                           global_batch=4),
    "replicas": scenario("llama-3.1-8b", {}),
    "autocast": scenario("llama-3.2-1b", {"zero_stage": 1, "tp": 2},
                         precision={"weights": "fp32", "autocast": "bf16"}),
    "shards": scenario("llama-3.1-8b", {"fsdp": 16}),
    "stages": scenario("llama-3.1-8b", {"tp": 4, "pp": 2}),
    "context": scenario("llama-3.1-8b", {"cp": 4, "fsdp": 4}, global_batch=16),
    "experts": scenario(MIXTURE, {"ep": 8}),
    "all experts": scenario(MIXTURE, {"zero_stage": 1}),
    "gradients in shards": scenario("llama-3.1-8b", {"zero_stage": 2}),
    "states": scenario("mamba2-1.3b", {"fsdp": 8}, sequence_length=512),
    "encoder": scenario({"preset": "bert-large", "dropout": 0}, {"tp": 2, "fsdp": 8},
                        sequence_length=512),
    "latents": scenario({"preset": "deepseek-v3", "layers": 4, "first_dense_layers": 1},
                        {"ep": 8, "pp": 2}),
}

FOUR_LAYERS = {"preset": "llama-3.1-8b", "layers": 4}


def with_adapters(model, *targets):
    return scenario(model, {"tp": 8}, {**HGX, "nodes": 1}, sequence_length=2048,
                    lora={"rank": 16, "targets": targets})


FIELDS = {
    "model": {
        "experts_per_token": [2], "expert_ffn_hidden": [1024], "shared_ffn_hidden": [1024],
        "first_dense_layers": [2], "moe_every": [2], "shared_expert_gate": [True],
        "full_attention_every": [2], "full_attention_first": [2], "state_size": [64],
        "conv_width": [8], "scan_chunk": [128], "dropout": [0.1], "attention_window": [1024],
        "qk_norm_across_heads": [True], "shared_norm": [True], "mtp_layers": [1],
    },
    "workload": {
        "capacity_factor": [1.5], "expert_skew": [2], "loss_pieces": [4],
        "flash_attention": [False], "gradient_clipping": [False],
    },
    "workload.precision": {
        "gradients": ["bf16"], "reduction": ["bf16"], "master": ["bf16"], "split_master": [True],
        "moments": ["bf16"], "matmul": ["fp8"], "plain_first": [2], "plain_last": [2],
        "narrow_weights": ["kept", "gathered"], "narrow_logits": [True],
    },
    "strategy": {
        "expert_axes": ["ep+tp"], "expert_tp": [2], "expert_gates": ["activations"],
        "expert_dispatch": ["all_gather"], "sequence_parallel": [True], "zero_stage": [1, 2],
        "keep_weight_shard": [True],
    },
    "strategy.pipeline": {
        "schedule": ["gpipe"], "microbatch_group": [4], "last_stage_layers": [1],
        "ends_are_layers": [True], "exchange_overlap": ["passes"], "blocking_sends": ["all"],
        "scatter_gather": [True], "profile": [{"forward": 2}],
    },
    "strategy.recompute": {
        "kind": ["selective", "full", "ops", "modules"], "layers": [1], "every": [2],
        "modules": [["norms"]], "keep": [["qkv"]], "head": [True], "unread": [True],
    },
    "strategy.data": {
        "bucket": ["4 GiB"], "overlap": [False], "all_reduce": [True], "overlap_gathers": [False],
    },
    "strategy.fsdp_options": {
        "reshard_after_forward": [False], "reshard_last_layer": [False], "root": [True],
        "prefetch": [0], "copies": ["fsdp1", "fsdp2", "deepspeed"],
        "no_sync": ["pipelines", "always"], "replica_sums": ["last_microbatch"],
        "early_scales": [True],
    },
    "strategy.context": {"kind": ["ulysses", "ring"]},
    "strategy.tensor": {"overlap": ["none", "ring"], "gather_logits": [True],
                        "copied_inputs": [True]},
    "strategy.zero_plus_plus": {"secondary_shard": [True], "quantized_weights": [True],
                                "quantized_gradients": [True]},
    "strategy.offload": {"activations": ["cpu"], "activation_layers": [2], "bind_cores": [False]},
    "strategy.parameter_server": {"staleness": [1], "dedicated": [True]},
    "kernels": {
        "attention": ["flash2"], "softmax": ["eager"], "packing": ["eager"],
        "shared_keys": ["eager"], "merge": ["eager"], "qkv": ["eager"], "gate": ["eager"],
        "input_sums": ["eager"], "bias": ["eager"], "dropout": ["eager"], "norm": ["eager"],
        "rope": ["eager"], "activation": ["eager"], "clamp": ["eager"], "adapters": ["fused"],
        "cross_entropy": ["eager", "single"], "gradient_sum": ["eager"],
        "table_gradient": ["eager"], "sequence": ["eager"],
        "amax": ["eager"], "optimizer": ["eager"], "routing": ["eager"], "experts": ["eager"],
        "expert_bias": ["eager"], "expert_padding": ["eager"], "exchange": ["deepep"],
    },
    "host": {
        "launch_time": ["2 ms"], "linear_calls": [2], "graphs": [True], "routing_graph": [True],
        "waits_for_messages": [True], "waits_for_routing": [True], "waits_for_lengths": [True],
        "waits_for_passes": [True],
    },
    "cluster": {"seed": [2], "jitter": [0.1], "variation": [0.3]},
    "cluster.fabric": {"spreading": ["hash"], "rail_forwarding": [False]},
}


def numbers(result):
    report = json.loads(result.out)
    return {key: value for key, value in report.items() if key not in ("run", "scenario", "layout")}


class IdleFields(CommandTest):
    def run_of(self, written):
        return plait("run", "-", "--format", "json", stdin=json.dumps(written))

    def check_field(self, base, unchanged, path, value):
        written = self.run_of(changed(copy.deepcopy(base), path, value))
        if written.code == 2:
            return  # refused
        self.assertIn(written.code, (0, 1), written.err)
        told = [line for line in written.err.splitlines() if "W001" in line]
        effect = numbers(written) != unchanged
        self.assertNotEqual(effect, bool(told), f"{path} = {value}: {told or 'nothing is said'}")

    def test_a_field_has_an_effect_or_is_told_to_have_none(self):
        for name, base in BASES.items():
            unchanged = numbers(self.run_of(base))
            for group, fields in FIELDS.items():
                for field, values in fields.items():
                    for value in values:
                        if base.get(group, {}).get(field) == value:
                            continue
                        with self.subTest(base=name, field=f"{group}.{field}", value=value):
                            self.check_field(base, unchanged, f"{group}.{field}", value)

    def test_no_more_layers_leave_the_device_than_there_are(self):
        base = changed(BASES["shards"], "strategy.offload", {"activations": "cpu"})
        all_leave = self.run_of(changed(base, "strategy.offload.activation_layers", 32))
        more = self.run_of(changed(base, "strategy.offload.activation_layers", 33))
        self.assertEqual(numbers(more), numbers(all_leave))
        self.assertIn("W001: strategy.offload.activation_layers counts as 32", more.err)
        self.assertNotIn("W001", all_leave.err)

    def test_what_keeps_all_on_the_device_is_an_answer(self):
        base = changed(BASES["gradients in shards"], "strategy.offload", "cpu")
        told = plait("run", "-", "--set", "strategy.offload=none", stdin=json.dumps(base)).err
        self.assertEqual(told, "")

    def test_adapters_have_the_last_word_in_what_several_products_share(self):
        ungated = {"preset": "megatron-1.7b", "layers": 4}
        for model, targets, effect in ((FOUR_LAYERS, ("q",), True), (FOUR_LAYERS, ("out", "up"), True),
                                       (FOUR_LAYERS, ("v", "up_half"), False),
                                       (ungated, ("up",), True), (ungated, ("qkv",), False)):
            base = with_adapters(model, *targets)
            with self.subTest(model=model["preset"], targets=targets):
                told = self.run_of(changed(copy.deepcopy(base), "kernels.input_sums", "eager"))
                self.assertEqual(numbers(told) != numbers(self.run_of(base)), effect)
                self.assertEqual("W001: kernels.input_sums" in told.err, not effect, told.err)

    def test_what_is_of_weights_that_adapters_leave_as_they_are_is_told(self):
        base = with_adapters({"preset": "megatron-1.7b", "layers": 4}, "qkv", "down")
        for path, value in (("kernels.bias", "eager"), ("strategy.tensor.overlap", "none")):
            with self.subTest(path):
                self.check_field(base, numbers(self.run_of(base)), path, value)

    def test_attention_and_mlp_that_share_an_input_sum_its_gradient_once(self):
        base = scenario({"preset": "phi-2", "layers": 4}, {"tp": 4}, sequence_length=2048)
        self.check_field(base, numbers(self.run_of(base)), "kernels.input_sums", "eager")

    def test_defaults_and_habits_of_frameworks_are_not_told(self):
        base = BASES["replicas"]
        for path, value in (("strategy.recompute.head", False), ("host.graphs", False),
                            ("workload.expert_skew", 1), ("kernels.softmax", "fused"),
                            ("framework", "megatron-lm"), ("framework", "torchtitan")):
            with self.subTest(path=path, value=value):
                self.assertNotIn("W001", self.run_of(changed(base, path, value)).err)

    def test_what_the_command_line_sets_is_told_once(self):
        idle = ["--set", "kernels.softmax=eager", "--set", "strategy.pipeline.scatter_gather=true",
                "--set", "workload.global_batch=64"]
        told = plait("run", "-", *idle, stdin=json.dumps(BASES["replicas"])).err
        self.assertEqual(told.count("W001"), 2, told)
        self.assertEqual(told.count("W002"), 1, told)
        self.assertIn("W002: --set workload.global_batch=64 changes nothing", told)

    def test_an_option_of_its_own_is_told_by_its_name(self):
        told = plait("run", "-", "--network", "flow", stdin=json.dumps(BASES["one device"])).err
        self.assertIn("W002: --network flow changes nothing", told)
        self.assertNotIn("--set", told)

    def test_a_comparison_tells_of_which_rows(self):
        path = self.file("replicas.json", json.dumps(BASES["replicas"]))
        told = plait("compare", path, "-L", "kernels.softmax=fused,eager").err
        self.assertEqual(told.strip(), "warning: W001: kernels.softmax has no effect: attention is "
                                       "fused [softmax=eager]")
        told = plait("compare", path, "-L", "strategy.tp=2,4",
                     "--set", "kernels.softmax=eager").err
        self.assertEqual(told.count("W001"), 1, told)
        self.assertNotIn("[", told)

    def test_no_token_is_dropped_where_there_are_no_experts(self):
        # It is in nothing but the warning: MFU counts what it counts without it.
        dropping = self.run_of(changed(BASES["replicas"], "workload.capacity_factor", 1.5))
        self.assertEqual(numbers(dropping), numbers(self.run_of(BASES["replicas"])))
        self.assertIn("W001: workload.capacity_factor has no effect: the model has no experts",
                      dropping.err)

    def test_rows_are_padded_for_products_in_8_bits_alone(self):
        for matmul, padded in (("bf16", False), ("fp8", True)):
            base = changed(BASES["experts"], "workload.precision", {"matmul": matmul})
            eager = self.run_of(changed(base, "kernels.expert_padding", "eager"))
            self.assertEqual(numbers(eager) != numbers(self.run_of(base)), padded, matmul)

    def test_a_rank_that_has_all_experts_is_no_busier_than_the_mean(self):
        skewed = changed(BASES["all experts"], "workload.expert_skew", 2)
        result = self.run_of(skewed)
        self.assertEqual(numbers(result), numbers(self.run_of(BASES["all experts"])))
        self.assertIn("W001: workload.expert_skew has no effect: each rank has all experts",
                      result.err)
        # Of two ranks the busiest has twice the mean at most: all tokens.
        two = changed(BASES["all experts"], "strategy", {"ep": 2})
        two, four = (self.run_of(changed(two, "workload.expert_skew", k)) for k in (2, 4))
        self.assertEqual(numbers(two), numbers(four))


if __name__ == "__main__":
    unittest.main()
