"""Codes of errors and warnings that no other test meets, each by the smallest command line that a
user could type, with its exit code and its place. cmake/check_errors.py says what is untested."""

import json
import unittest

from plait_command import SOURCE, TINY, CommandTest, plait

LLAMA_CPP = SOURCE / "scenarios/systems/llama-cpp-7b-q4_0.json"
HEXGEN = SOURCE / "scenarios/systems/hexgen-asymmetric.json"
MIXED = SOURCE / "scenarios/mixed/llama-3.1-8b-16xh100-16xa100.json"
CALIBRATION = SOURCE / "reports/gpu/h100/calibration.json"
OWN_RUN = SOURCE / "tests/docs/own-run.json"
LLAMA_CPP = SOURCE / "scenarios/systems/llama-cpp-7b-q4_0.json"
MATRIX_OF_NVLINKS = SOURCE / "tests/topologies/samples/a100-4-mesh.txt"

# Of attention and state-space mixers in turn.
HYBRID = {"model.layer_pattern": "mama", "model.state_size": 16, "model.state_heads": 8,
          "model.state_head_dim": 64}
ADAPTERS = {"workload.lora.rank": 4}
AUTOCAST = {"workload.precision": {"weights": "fp32", "autocast": "bf16"}}
NO_TP = {"strategy.tp": 1, "strategy.dp": 4}

SPREAD = {"median": 1e-3, "p10": 1e-3, "p90": 1e-3}
CAST = {"op": "cast", "elements": 1000, "from": "fp32", "to": "bf16"}
MEASURED = [
    {"kind": "run", "bench": "compute", "version": "", "command": "", "date": "", "host": "",
     "processor": "Xeon", "cores": 1, "os_kernel": "", "compiler": "", "blas": "",
     "quiet": "busy", "core_to_core_ns": 0, "jitter": 0, "memory": "cold", "threads": 1},
    {"kind": "kernel", "calls": 1, "repeats": 5, "round": 0, "switches": 0, "traffic_bytes": 6000,
     "cpu_s": SPREAD, "wall_s": SPREAD, "op": CAST},
    {"kind": "overlap", "op": CAST, "transport": "nccl", "communication": "all_reduce", "ranks": 8,
     "size_bytes": 1024, "multiprocessors": 132, "repeats": 5, "covered": False,
     "compute_alone_s": SPREAD, "compute_beside_s": SPREAD, "communication_alone_s": SPREAD,
     "communication_beside_s": SPREAD}]

PRODUCT = {"op": "matmul", "pass": "forward", "layout": "nt", "batch": 1, "m": 4096, "n": 4096,
           "k": 4096, "in": "bf16", "out": "bf16", "accumulate": False, "bias": False,
           "weights": "plain"}


def products_of_an_h100(*seconds):
    """Of one product, measured so many times."""
    rows = [{"kind": "run", "bench": "compute", "processor": "NVIDIA H100 80GB HBM3",
             "quiet": "quiet"},
            *({"kind": "kernel", "op": PRODUCT, "cpu_s": {"median": s}} for s in seconds)]
    return "".join(json.dumps(row) + "\n" for row in rows)


MESSAGES = {"bytes": [16, 1024], "seconds": [1e-5, 2e-5]}
# What the folder holds that the commands run in.
FILES = {
    "config.json": json.dumps({"model_type": "gpt2", "n_embd": 256, "n_layer": 4, "n_head": 8,
                               "vocab_size": 1024, "n_positions": 1024, "dropuot": 0}),
    "gpt2.json": json.dumps({"model": {"hf_config": "config.json"},
                             "workload": {"sequence_length": 128, "global_batch": 16},
                             "cluster": "hgx-h100"}),
    "fast.jsonl": products_of_an_h100(1e-4),
    "scattered.jsonl": products_of_an_h100(2.1e-4, 4e-4),
    # Of messages alone, and of nothing.
    "box.json": json.dumps({"name": "box", "raw_sha256": "", "date": "2026-01-02", "cores": 2,
                            "transports": {"tcp": {"send": MESSAGES, "receive": MESSAGES}}}),
    "bare.json": json.dumps({"name": "bare", "raw_sha256": "", "date": "2026-01-02"}),
    "measured.jsonl": "".join(json.dumps(row) + "\n" for row in MEASURED),
    # Answers of 3 steps of 10 s each: of 500 a second more are under way than a fifth of 100,000.
    "slow.json": json.dumps({
        "model": {"layers": 1, "hidden": 64, "heads": 1, "vocab": 64},
        "serving": {"slo": {"ttft": "1000 s"},
                    "engine": {"step_overhead": "10 s", "max_num_seqs": 65536,
                               "max_num_batched_tokens": 65536},
                    "requests": {"count": 100000, "rate_per_s": 300,
                                 "kinds": [{"prompt_tokens": 1, "output_tokens": 3}]}},
        "cluster": {"preset": "hgx-h100", "devices_per_node": 1}}),
}

# Code, exit code, the command's arguments, its --set options, all that the message must say.
CODES = [
    ("C005", 2, ["run", TINY],
     {"cluster.preset": "dgx-a100", "workload.precision.matmul": "fp8"},
     ["--> cluster (", "tiny.json", "a100-80-sxm has no fp8", "fp32, bf16, fp16"]),
    ("C012", 2, ["run", MIXED], {"calibration": str(CALIBRATION)},
     ["--> calibration (", "cluster.other_nodes"]),
    ("G001", 2, ["run", TINY, "--trace-ranks", "0-3", "--trace", "t"], {},
     ["--trace-ranks: 0-3 is no number", "--help"]),
    ("G003", 2, ["run", TINY, "--set", "strategy.tp"], {}, ["'strategy.tp'", "--set"]),
    ("G003", 2, ["run", TINY, "--set", "=2"], {}, ["'=2'", "path=value"]),
    ("G005", 2, ["compare", TINY, "-L", "strategy.tp=1-1000000", "-L", "strategy.pp=1,2"], {},
     ["-L", "million"]),
    ("G006", 2, ["run", TINY], {"strategy.ttp": "help"},
     ["--> strategy.ttp", 'did you mean "tp"?']),
    ("G007", 2, ["plan", TINY, "--stage", "2"], {},
     ["--> --stage 2", "no stage 2", "0 to 1", "cure: "]),
    ("G008", 2, ["compare", TINY, "--fail-over", "5x"], {}, ["--fail-over 5x"]),
    ("G008", 2, ["compare", TINY, "--fail-over", "5"], {}, ["5 times the step", "--fail-over 5%"]),
    ("J009", 2, ["run", TINY], {"name": "\udcff\udcfe"}, ["--> --set name", "UTF-8"]),
    ("G010", 2, ["run", TINY, "--trace", "trace.json", "--trace-ranks", "1"], {},
     ["rank 1 ", "--unfold"]),
    ("G011", 2, ["realrun", TINY, "--verify"], {"workload.global_batch": 6400},
     ["too much to verify", "model.ffn_hidden", "workload.sequence_length"]),
    ("G011", 2, ["realrun", TINY],
     {"workload.sequence_length": 65536, "workload.global_batch": 64},
     ["too much to run for real", "--repeats"]),
    ("G011", 2, ["realrun", TINY, "--verify"], {"workload.global_batch": 16000000},
     ["--> workload.global_batch (", "passes through layers", "cure: "]),
    ("G011", 2, ["realrun", TINY], {"workload.global_batch": 16000000},
     ["--> workload.global_batch (", "passes through layers"]),
    ("G012", 2, ["realrun", TINY, "--verify", "--precision", "bf16"],
     {"workload.precision.weights": "fp16"}, ["--> workload.precision (", "fp16 cannot"]),
    ("G012", 2, ["realrun", TINY, "--verify", "--precision", "bf16"],
     {"workload.precision.split_master": True}, ["--> workload.precision.split_master ("]),
    ("G014", 2, ["realrun", TINY, "--shaped"], {"cluster.nodes": 2, "strategy.dp": 4},
     ["--transport tcp"]),
    ("G014", 2, ["realrun", TINY, "--shaped", "--transport", "tcp"], {}, ["cluster.nodes"]),
    ("G015", 2, ["realrun", TINY, "--collectives", "library"], {},
     ["--collectives", "--transport mpi"]),
    ("G028", 2, ["realrun", TINY, "--verify"],
     {"model.experts": 4, "model.experts_per_token": 2, "strategy.sequence_parallel": True,
      "workload.capacity_factor": 1.25},
     ["--> workload.capacity_factor (", "drop other tokens"]),
    ("G025", 2, ["realrun", TINY, "--backend", "cuda"], HYBRID,
     ["--> model.layer_pattern (", "--backend"]),
    ("G025", 2, ["realrun", TINY, "--backend", "cuda"], {"model.attention_gate": True},
     ["--> model.attention_gate (", "--backend"]),
    ("G025", 2, ["realrun", TINY, "--backend", "cuda"], {"model.shared_expert_gate": True},
     ["--> model.shared_expert_gate (", "--backend"]),
    ("G025", 2, ["realrun", TINY, "--backend", "cuda"],
     {**ADAPTERS, "workload.lora.dropout": 0.1}, ["--> workload.lora.dropout (", "--backend"]),
    ("G025", 2, ["realrun", TINY, "--backend", "cuda"],
     {**ADAPTERS, **NO_TP, "workload.lora.frozen": "nf4"}, ["--> workload.lora.frozen ("]),
    ("G025", 2, ["realrun", TINY, "--backend", "cuda"],
     {"workload.precision.narrow_logits": True}, ["--> workload.precision.narrow_logits ("]),
    ("G030", 2, ["explain", "S999"], {}, ["'S999'", "plait explain"]),
    ("S019", 2, ["run", TINY], {"strategy.context.ulysses": 2},
     ["--> strategy.context.ulysses (", '"hybrid"']),
    ("S019", 2, ["run", TINY],
     {"strategy.tp": 1, "strategy.cp": 2, "strategy.context.kind": "hybrid",
      "strategy.context.ulysses": 4}, ["--> strategy.context.ulysses (", "a divisor of 2"]),
    ("S047", 2, ["run", TINY], {"workload.precision.matmul": "fp16"},
     ["--> workload.precision.matmul (", "fp16", "bf16"]),
    ("S049", 2, ["search", TINY], {"strategy.pipeline.schedule": ["gpipe", "2f2b"]},
     ["--> strategy.pipeline.schedule (", '"2f2b"', "1f1b"]),
    ("S049", 2, ["search", TINY], {"strategy.tp": [0, 2]}, ["--> strategy.tp (", "from 1 to"]),
    ("S049", 2, ["search", TINY], {"strategy.zero_stage": [0, 7]},
     ["--> strategy.zero_stage (", "from 0 to 3"]),
    ("S049", 2, ["search", TINY], {"strategy.recompute.kind": ["modules"]},
     ["--> strategy.recompute.kind (", "strategy.recompute.modules"]),
    ("S054", 2, ["run", HEXGEN], {"network": "flow"},
     ["--> network (", "strategy.stage_tp"]),
    ("S054", 2, ["export", HEXGEN, "--to", "chakra", "-o", "traces"], {},
     ["--> strategy.stage_tp (", "hexgen-asymmetric.json:"]),
    ("S060", 2, ["serve", LLAMA_CPP], {"model.ffn_hidden": 11009},
     ["--> serving.weights (", "mlp_down", "11009", "q4_0"]),
    ("S060", 2, ["serve", LLAMA_CPP],
     {"model.hidden": 4128, "model.head_dim": 129, "serving.head_weights": "int4"},
     ["--> serving.head_weights (", "multiple of 128", "int8"]),
    ("S067", 2, ["serve", LLAMA_CPP], {"strategy.tp": 2, "cluster.devices_per_node": 2},
     ["--> strategy.tp (", "strategy.pp"]),
    ("S070", 2, ["run", TINY],
     {"workload.precision.split_master": True, "strategy.zero_stage": 3},
     ["--> workload.precision.split_master ("]),
    ("S071", 2, ["run", TINY], {"workload.loss_pieces": 2}, ["--> workload.loss_pieces ("]),
    ("S071", 2, ["run", TINY],
     {**NO_TP, "workload.loss_pieces": 2,
      "strategy.pipeline": {"schedule": "dualpipe-v", "chunks": 2}},
     ["--> workload.loss_pieces ("]),
    ("S072", 2, ["run", TINY], {**NO_TP, "workload.loss_pieces": 3},
     ["--> workload.loss_pieces (", "128 positions", "3 pieces"]),
    ("S114", 2, ["search", TINY], {"strategy.parameter_server.servers": 1},
     ["--> strategy.parameter_server (", "plait compare"]),
    ("K007", 2, ["run", "gpt2.json"], {"calibration": "measured.jsonl"},
     ["--> ", "measured.jsonl", "plait calibrate "]),
    ("S166", 2, ["run", TINY], {"workload.global_batch": 160000000},
     ["--> workload.global_batch (", "8.0e+07 microbatches through 4 layers"]),
    ("S196", 2, ["run", TINY], {"workload.precision.autocast": "bf16"},
     ["--> workload.precision.weights", '"autocast": "bf16"']),
    ("S196", 2, ["run", TINY], {**AUTOCAST, "strategy.zero_stage": 3, "strategy.dp": 2},
     ["--> strategy.zero_stage (", "FSDP"]),
    ("S196", 2, ["run", TINY], {**AUTOCAST, **NO_TP, "workload.loss_pieces": 2},
     ["--> workload.loss_pieces (", "autocast is not planned beside workload.loss_pieces"]),
    ("S196", 2, ["run", TINY], {**AUTOCAST, "workload.precision.matmul": "fp8"},
     ["--> workload.precision.matmul ("]),
    ("S197", 2, ["run", TINY], {"workload.precision.matmul": "fp8",
                                "workload.precision.scales": "row",
                                "workload.precision.narrow_weights": "gathered"},
     ["--> workload.precision.scales (", "workload.precision.narrow_weights"]),
    ("S199", 2, ["serve", "slow.json"], {"serving.requests.rate_per_s": 0.001},
     ["--> serving.requests.rate_per_s (", "1157 days", "raise the rate"]),
    ("S123", 2, ["run", TINY], {"model.kv_lora_rank": 32}, ["--> model.head_dim ("]),
    ("S136", 2, ["run", TINY], {"workload.precision.plain_last": 5},
     ["--> workload.precision.plain_last (", "a model of 4"]),
    ("S136", 2, ["run", TINY], {"workload.precision.plain_first": 5},
     ["--> workload.precision.plain_first (", "a model of 4"]),
    # Of four layers the first and the third, which are no attention, have experts.
    ("S159", 2, ["search", TINY],
     {**HYBRID, "model.experts": 4, "model.experts_per_token": 1, "model.moe_every": 2,
      "model.mtp_layers": 1}, ["--> model.mtp_layers (", "plait compare"]),
    ("V004", 2, ["validate", OWN_RUN, OWN_RUN], {}, ["own-run.json", "would count twice"]),
    ("W002", 0, ["run", TINY], {"workload.global_batch": 16},
     ["--set workload.global_batch=16 changes nothing: it is what it was"]),
    ("W026", 0, ["search", TINY, "-L", "cluster.preset=hgx-h100,hgx-h200", "--price", "2",
                 "--best", "1"], {}, ["h100-sxm and h200-sxm", "--price h100-sxm=PRICE,"]),
    ("W002", 0, ["run", "gpt2.json"], {}, ["config.json: ignored dropuot"]),
    ("W003", 0, ["run", "gpt2.json"], {}, ["config.json: assumed", "n_inner = 1024"]),
    ("W004", 0, ["calibrate", "measured.jsonl", "-o", "fit.json"], {},
     ["compute was measured on a machine that was busy", "cast.fp32_to_bf16 has no row",
      "1 overlaps"]),
    ("W005", 0, ["topology", "import", MATRIX_OF_NVLINKS], {}, ["a100-40-sxm", "--device"]),
    ("W010", 0, ["serve", "slow.json", "--max-rate"], {}, ["requests a second", "100000 are"]),
    ("W019", 0, ["serve", "slow.json"], {"serving.requests.rate_per_s": 1000},
     ["still wait for their first token", "--max-rate"]),
    ("W023", 0, ["run", TINY],
     {"framework": "megatron-lm-2021", "workload.flash_attention": False,
      "model.heads": 4},
     ["2 heads of a rank, micro-batches of 1"]),
    ("W023", 0, ["run", TINY],
     {"cluster": {"preset": "dgx-v100", "devices_per_node": 1}, "strategy": {}, "workload.precision": "fp16"},
     ["FlashAttention has no code for", "of compute capability 7.0"]),
    ("W037", 0, ["run", TINY],
     {"cluster": {"preset": "hgx-h100", "devices_per_node": 1}, "strategy": {}, "model.ffn_hidden": 257,
      "workload.precision": {"matmul": "fp8"}},
     ["model.ffn_hidden is 257", "multiples of 16"]),
    ("W038", 0, ["serve", LLAMA_CPP], {"cluster": {"preset": "hgx-h100", "devices_per_node": 1}},
     ["llama.cpp's kernels reach less of the memory of h100-sxm"]),
    ("W021", 0, ["run", TINY],
     {"cluster": {"nodes": 1, "node": {"name": "box", "device": "h100-sxm", "family": "nvswitch",
                                       "devices": 8, "pcie_bandwidth": "64 GB/s", "sockets": 1}}},
     ["cluster.node has no latencies (nvlink_latency"]),
    ("W027", 0, ["run", TINY], {"cluster": {"preset": "hgx-h100", "nodes": 2, "fabric": "xdr800"}, "strategy.dp": 4},
     ["a NIC of 100 GB/s is faster than the PCIe", "cluster.device.pcie_bandwidth is 63.0 GB/s"]),
    ("W020", 0, ["serve", "slow.json"], {"model": "gpt-oss-20b", "serving.engine": {}, "serving.requests.count": 9},
     ["gpt-oss-20b is published with serving.expert_weights=mxfp4"]),
    ("W035", 0, ["run", "gpt2.json"], {"calibration": "bare.json"},
     ["the calibration bare, 2026-01-02 has no ", "matmul.nt.bf16", "the data sheet of h100-sxm"]),
    ("W036", 0, ["run", "gpt2.json"], {"cluster": {"preset": "cpu-host", "devices_per_node": 8},
                                  "calibration": "box.json"},
     ["messages and cores of the calibration box, 2026-01-02", "realrun --calibration"]),
    ("W032", 0, ["calibrate", "fast.jsonl", "-o", "fit.json"], {},
     ["1 of 1 kernels are faster than the dense peak of h100-sxm", "1374 TFLOP/s of 989"]),
    ("W033", 0, ["calibrate", "scattered.jsonl", "-o", "fit.json"], {},
     ["1 of 1 ops contradict each other", "0.00021 to 0.0004 s"]),
    ("W034", 0, ["calibrate", "scattered.jsonl", "-o", "fit.json", "--device", "h200-sxm"], {},
     ["--device h200-sxm", "which is h100-sxm"]),
    ("W030", 0, ["serve", "slow.json"], {"serving.engine.cuda_graphs": False, "serving.requests.count": 9},
     ["kernels are issued in no time"]),
    ("W031", 0, ["run", TINY], {"cluster.preset": "pcie-8", "strategy.offload.activations": "cpu"},
     ["the host memory of pcie-8", "set cluster.processor"]),
    ("S200", 2, ["run", TINY], {"cluster.preset": "dgx-spark", "strategy.offload.activations": "cpu"},
     ["--> cluster.preset (", "the memory of gb10", "remove strategy.offload"]),
]


def set_options(edits):
    for path, value in edits.items():
        text = value if isinstance(value, str) else json.dumps(value)
        yield from ("--set", f"{path}={text}")


class Codes(CommandTest):
    def setUp(self):
        super().setUp()
        for name, text in FILES.items():
            self.file(name, text)

    def asked(self, arguments, edits):
        result = plait(*arguments, *set_options(edits), cwd=self.folder)
        if "this build has no real runs" in result.err:
            self.skipTest(result.err)
        return result

    def test_each_code_is_met_where_the_table_says(self):
        for code, exit_code, arguments, edits, words in CODES:
            with self.subTest(code, arguments=arguments, edits=edits):
                result = self.asked(arguments, edits)
                message = f"exit code {result.code}\n{result.out}{result.err}"
                self.assertEqual(result.code, exit_code, message)
                warns = code.startswith("W")
                self.assertIn(f"warning: {code}: " if warns else f"error[{code}]: ", result.err)
                for word in words:
                    self.assertIn(word, result.err, message)
                self.assertEqual(result.out != "", warns, "an error has no result")

    def test_a_comparison_of_nothing_still_shows_why(self):
        result = plait("compare", TINY, "-L", "strategy.tp=3,5")
        self.assertEqual(result.code, 2, result.err)
        self.assertIn("error[G009]", result.err)
        self.assertIn("cure: ", result.err)
        self.assertEqual(result.out.count("S001"), 2, result.out)


if __name__ == "__main__":
    unittest.main()
