#!/usr/bin/env python3
"""serve_steps.py MEASURED [--plait PROGRAM] [--cluster NAME] -o RESULT: the steps that torch_serve.py
measured, as `plait serve` predicts them of one device of the cluster. A batch that decodes are requests
that come at once, of which all but a few tokens are in their prompts, which one step takes together."""

import argparse
import json
import subprocess
from pathlib import Path

AT_ONCE = 1e6  # requests per second
DECODED = 16  # tokens of each, in the middle of which it has its context
KERNELS = {"flash": "sdpa", "cudnn": "cudnn"}  # of `kernels.attention`


def scenario(step, measured, cluster):
    batch, context, prompt = step["batch"], step["context_tokens"], step["new_tokens"] > 1
    kind = {"name": "all", "spread": 0, "prompt_tokens": context - (0 if prompt else DECODED // 2),
            "output_tokens": DECODED}
    longest = context + DECODED
    return {"model": measured["model"],
            "cluster": {"preset": cluster, "nodes": 1, "devices_per_node": 1},
            "kernels": {"attention": KERNELS[measured["attention"]]},
            "serving": {"engine": {"max_model_len": longest, "max_num_seqs": batch,
                                   "max_num_batched_tokens": batch * longest},
                        "requests": {"count": batch, "rate_per_s": AT_ONCE, "kinds": [kind]}}}


def seconds_of(step, service):
    """Of the GPU alone, as a graph's replay is: without what the engine's host does in between."""
    steps = service["generation_steps" if step["new_tokens"] == 1 else "prompt_steps"]
    return steps["time_s"] / steps["steps"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measured", type=Path)
    parser.add_argument("--plait", default="build/plait")
    parser.add_argument("--cluster", default="hgx-h100")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    measured = json.loads(options.measured.read_text(encoding="utf-8"))
    predicted = []
    for step in measured["steps"]:
        text = json.dumps(scenario(step, measured, options.cluster))
        done = subprocess.run([options.plait, "serve", "-", "--format", "json"], input=text,
                              stdout=subprocess.PIPE, text=True, check=True)
        predicted.append(seconds_of(step, json.loads(done.stdout)["service"]))
    options.output.write_text(json.dumps({"steps": predicted}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
