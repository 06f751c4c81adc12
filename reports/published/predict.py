#!/usr/bin/env python3
"""Predicts published training runs and puts the measured time beside each prediction.

A record says what was trained, how it was split and on what, and what was measured; it becomes a
scenario without any knob of its own. Records that Plait cannot express are listed with the reason.

usage: predict.py --data DIR [--plait build/plait] [--tier A] [--json OUT] SOURCE...
       SOURCE is the name of a record file without .json, "megatron_sc21_a100"
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

CLUSTERS = [  # beginning of a record's GPU name -> node, device, fabric
    ("A100-SXM4-80GB", "dgx-a100", "a100-80-sxm", "hdr200"),
    ("A100-SXM4-40GB", "dgx-a100", "a100-40-sxm", "hdr200"),
    ("V100-SXM3-32GB", "dgx-v100", "v100-sxm2-32", "edr100"),
]


# Sources whose runs kept the attention probabilities: SC21 predates fused kernels; Zero Bubble's Table 1
# counts activations as s b h (34 + 5 a s / h) (recalled), and its measured memory has room for them.
UNFUSED_ATTENTION = ("megatron_sc21", "zero_bubble")


class NotExpressible(Exception):
    pass


def model_of(record):
    m = record["model"]
    heads = m["heads"]
    return {
        "name": m["name"],
        "layers": m["layers"],
        "hidden": m["hidden"],
        "ffn_hidden": m.get("ffn_hidden", 4 * m["hidden"]),
        "heads": heads,
        "kv_heads": m.get("kv_heads", heads),
        "head_dim": m["hidden"] // heads,
        # GPT-2's 50,257 tokens padded by Megatron-LM to a multiple of 128 per tensor-parallel rank.
        "vocab": m.get("vocab", 51200),
        "max_positions": m["seq_len"],
        "norm": "layernorm",
        "activation": "gelu",
        "gated_mlp": False,
        "positions": "learned",
        "tied_embeddings": True,
        "qkv_bias": True,
        "attention_output_bias": True,
        "mlp_bias": True,
        "dropout": 0.1,
    }


def pipeline_of(record):
    p, layers = record["parallel"], record["model"]["layers"]
    pp, vpp = p.get("pp", 1), p.get("vpp", 1)
    schedule = p.get("schedule", "1F1B")
    if schedule.startswith("ZB"):
        raise NotExpressible("zero-bubble schedule")
    short_ends = "one transformer layer less" in record.get("notes", "")
    if isinstance(vpp, str):  # "max (1 layer per chunk)"
        vpp = (layers + (2 if short_ends else 0)) // pp
    out = {"schedule": "1f1b"}
    if vpp > 1:
        out = {"schedule": "interleaved", "chunks": vpp}
    if short_ends:
        share = (layers + 2) // (pp * vpp)
        out.update(first_stage_layers=share - 1, last_stage_layers=share - 1)
    return out


def cluster_of(record):
    c = record["cluster"]
    for start, preset, device, fabric in CLUSTERS:
        if c["gpu"].startswith(start):
            break
    else:
        raise NotExpressible("no catalogue entry for " + c["gpu"])
    gpus, per_node = c["num_gpus"], c.get("gpus_per_node", 8)
    if gpus <= per_node:
        if gpus > 8:
            raise NotExpressible("more than 8 GPUs in a node")
        return {"preset": preset, "devices_per_node": gpus, "device": device, "nodes": 1}
    return {"preset": preset, "device": device, "nodes": gpus // per_node,
            "fabric": fabric}


def scenario_of(record):
    p, b = record["parallel"], record["batch"]
    if "micro_batch" not in b:
        raise NotExpressible("micro-batch not published")
    strategy = {
        "pp": p.get("pp", 1),
        "tp": p.get("tp", 1),
        "dp": p.get("dp", 1),
        "sequence_parallel": bool(p.get("sp", False)),
        "recompute": record.get("recompute", "none"),
    }
    if strategy["pp"] > 1:
        strategy["pipeline"] = pipeline_of(record)
    return {
        "name": record["id"],
        "model": model_of(record),
        "workload": {
            "sequence_length": record["model"]["seq_len"],
            "global_batch": b["global_batch"],
            "micro_batch": b["micro_batch"],
            "precision": "fp16",
            "flash_attention": not record["id"].startswith(UNFUSED_ATTENTION),
        },
        "strategy": strategy,
        "cluster": cluster_of(record),
    }


def measured_seconds(record):
    m = record["measured"]
    return m.get("iteration_time_s", m.get("iteration_time_s_derived"))


def predict(plait, scenario):
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as f:
        json.dump(scenario, f)
    try:
        run = subprocess.run([plait, "run", f.name, "--format", "json"], capture_output=True,
                             text=True, check=False)
    finally:
        os.unlink(f.name)
    if run.returncode not in (0, 1):
        raise NotExpressible(run.stderr.strip().splitlines()[0])
    return json.loads(run.stdout)


def row_of(plait, record):
    row = {"id": record["id"], "tier": record["tier"], "model": record["model"]["name"],
           "gpus": record["cluster"]["num_gpus"], "gpu": record["cluster"]["gpu"],
           "schedule": record["parallel"].get("schedule", ""), "measured_s": measured_seconds(record)}
    try:
        if row["measured_s"] is None:
            raise NotExpressible("no time published")
        report = predict(plait, scenario_of(record))
        row["predicted_s"] = report["step_time_s"]
        row["log_error"] = math.log(report["step_time_s"] / row["measured_s"])
        row["fits"] = report["fits"]
        row["peak_memory_gb"] = report["peak_memory_bytes"] / 1e9
        row["measured_memory_gb"] = record["measured"].get("peak_memory_gb")
    except NotExpressible as reason:
        row["skipped"] = str(reason)
    return row


def summary(rows):
    errors = [r["log_error"] for r in rows if "log_error" in r]
    if not errors:
        return {"rows": 0, "skipped": len(rows)}
    size = sorted(abs(e) for e in errors)
    return {"rows": len(errors), "skipped": len(rows) - len(errors),
            "median_abs_log_error": statistics.median(size),
            "p90_abs_log_error": size[min(len(size) - 1, math.ceil(0.9 * len(size)) - 1)],
            "max_abs_log_error": size[-1], "bias_log": statistics.mean(errors)}


def show(source, rows):
    print(f"{source}")
    for r in rows:
        what = f"  {r['model']:<10} {r['gpus']:>5} x {r['gpu'][:16]:<16} {r['schedule'][:18]:<18}"
        if "skipped" in r:
            print(f"{what} skipped: {r['skipped']}")
        else:
            print(f"{what} predicted {r['predicted_s']:9.4f} s  measured {r['measured_s']:9.4f} s  "
                  f"{100 * (math.exp(r['log_error']) - 1):+6.1f} %")
    for key, value in summary(rows).items():
        print(f"  {key:<22} {value:.3f}" if isinstance(value, float) else f"  {key:<22} {value}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--data", required=True, help="folder of the record files")
    parser.add_argument("--plait", default="build/plait")
    parser.add_argument("--tier", default="ABC", help="tiers to predict, for example A or AB")
    parser.add_argument("--json", help="write rows and summary here")
    args = parser.parse_args()
    out = {}
    for source in args.sources:
        with open(os.path.join(args.data, source + ".json"), encoding="utf-8") as f:
            records = [r for r in json.load(f) if r["tier"] in args.tier]
        rows = [row_of(args.plait, r) for r in records]
        show(source, rows)
        out[source] = {"summary": summary(rows), "rows": rows}
    if args.json:
        with open(args.json + ".part", "w", encoding="utf-8") as f:
            json.dump(out, f, indent=1)
        os.replace(args.json + ".part", args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
