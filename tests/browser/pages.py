"""Makes one page of each kind, and the JSON of the same command, for the tests and screenshots."""

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
PLAIT = os.environ.get("PLAIT", str(SOURCE / "build" / "plait"))
TIMEOUT_S = 240

RECORD = {
    "source": "Megatron-LM, made up", "tier": "A", "task_kind": "pretrain",
    "model": {"name": "GPT-1.3B", "layers": 24, "hidden": 2048, "ffn_hidden": 8192, "heads": 16,
              "kv_heads": 16, "vocab": 50257, "seq_len": 1024, "gated_mlp": False},
    "cluster": {"gpu": "A100-SXM4-80GB", "num_gpus": 8, "gpus_per_node": 8},
    "parallel": {"tp": 2, "pp": 2, "dp": 2, "zero_stage": 1}, "precision": "bf16",
    "recompute": "none",
}


def made_up_records():
    """Three steps of different batches, and one record that no scenario says."""
    records = [{**RECORD, "id": f"made_up#{k}", "batch": {"global_batch": 32 * k, "micro_batch": 2},
                "measured": {"iteration_time_s": 0.5 * k}} for k in (1, 2, 3)]
    return records + [{**records[0], "id": "made_up#4", "parallel": {"tp": 3}}]


# Name of the page -> the command. {folder}: where the pages go.
COMMANDS = {
    "run": ["run", "scenarios/llama/llama-3.1-8b-16xh100-hybrid.json"],
    "run-large": ["run", "scenarios/llama/llama-3.1-70b-64xh100.json",
                  "--set", "training.tokens=1e12"],
    "run-does-not-fit": ["run", "scenarios/llama/llama-3.1-8b-8xh100-fsdp.json",
                         "--set", "workload.micro_batch=2"],
    "run-nearly-full": ["run", "scenarios/llama/llama-3.1-8b-8xh100-fsdp.json",
                        "--set", "workload.sequence_length=11520"],
    "run-never-fits": ["run", "scenarios/llama/llama-3.1-8b-8xh100-fsdp.json",
                       "--set", "model=llama-3.1-405b"],
    "run-asymmetric": ["run", "scenarios/systems/hexgen-asymmetric.json"],
    "run-servers": ["run", "scenarios/systems/parameter-server-stale.json"],
    "run-host-memory": ["run", "scenarios/systems/deepspeed-zero-offload.json", "--set",
                        "cluster.processor=core-i9-13900k"],
    "run-flow": ["run", "scenarios/tiny/tiny-8xh100.json", "--network", "flow"],
    "compare": ["compare", "scenarios/side-by-side/ddp.json", "scenarios/side-by-side/fsdp.json",
                "scenarios/side-by-side/pp.json"],
    "compare-batches": ["compare", "scenarios/tiny/tiny-8xh100.json", "-L",
                        "workload.global_batch=8,64,7"],
    "compare-stages": ["compare", "scenarios/llama/llama-3.1-70b-64xh100.json", "-L",
                       "strategy.pp=1,2,4"],
    "compare-pages": ["compare", "{folder}/run.html", "{folder}/run-flow.html"],
    "compare-trainings": ["compare", "scenarios/llama/llama-3.1-8b-8xh100-fsdp.json", "--set",
                          "training.tokens=1e12", "--set", "cluster.price_per_device_hour=2",
                          "-L", "strategy.recompute=none,full"],
    "whatif-trainings": ["whatif", "scenarios/llama/llama-3.1-8b-8xh100-fsdp.json", "--set",
                         "training.tokens=1e12", "--set", "cluster.price_per_device_hour=2",
                         "-L", "training.device_mtbf=10000 h,50000 h"],
    "whatif": ["whatif", "scenarios/llama/llama-3.1-8b-16xh100-hybrid.json",
               "-L", "cluster.inter_node.bandwidth=25 Gbit/s,100 Gbit/s,400 Gbit/s",
               "-L", "strategy.tp=2,4"],
    "search": ["search", "scenarios/tiny/tiny-8xh100.json", "--front"],
    "search-machines": ["search", "scenarios/llama/llama-3.1-8b-16xh100-hybrid.json", "-L",
                        "cluster.nodes=1,2", "--price", "2.5", "--tokens", "1e12",
                        "--objective", "energy", "--best", "3"],
    "search-best": ["search", "scenarios/llama/llama-3.1-70b-64xh100.json"],
    "realrun": ["realrun", "scenarios/shaped/dp-2-tp-2.json", "--repeats", "3",
                "--calibration", "reports/published/realrun-calibration.json"],
    "profile": ["profile", "scenarios/tiny/tiny-8xh100.json", "{folder}/rank.pt.trace.json"],
    "serve": ["serve", "scenarios/systems/vllm-llama-3.1-70b.json"],
    "serve-does-not-fit": ["serve", "scenarios/systems/vllm-llama-3.1-70b.json", "--set",
                           "strategy.tp=1", "--set", "strategy.pp=1", "--set", "cluster.nodes=1",
                           "--set", "cluster.devices_per_node=1"],
    "serve-experts": ["serve", "scenarios/systems/llama-cpp-gpt-oss-120b-experts.json"],
    "serve-compare": ["serve", "scenarios/systems/vllm-llama-3.1-70b.json", "--set",
                      "serving.requests.count=200", "-L", "strategy.tp=2,4,8", "-L", "strategy.pp=1,2"],
    "serve-objectives": ["serve", "scenarios/systems/vllm-llama-3.1-70b.json", "--set",
                         "serving.slo.ttft=300 ms", "--set", "serving.slo.tpot=25 ms", "--max-rate"],
    "serve-disaggregated": ["serve", "scenarios/systems/vllm-llama-3.1-70b-disaggregated.json"],
    "serve-compare-objectives": ["serve", "scenarios/systems/vllm-llama-3.1-70b.json", "--set",
                                 "serving.requests.count=200", "--set", "serving.slo.ttft=300 ms",
                                 "--max-rate", "-L", "strategy.tp=1,4,8"],
    "validate": ["validate", "{folder}/made_up.json"],
}


def make_trace(folder):
    """Of a run with other kernels than the scenario's, as torch.profiler would record it."""
    timeline, result = folder / "timeline.json", folder / "timeline-result.json"
    subprocess.run([PLAIT, "run", "scenarios/tiny/tiny-8xh100.json", "--set", "kernels.norm=eager",
                    "--trace", timeline, "-o", result], cwd=SOURCE, timeout=TIMEOUT_S, check=True)
    subprocess.run([sys.executable, SOURCE / "tests/cli/kineto_trace.py", timeline, result,
                    folder / "rank.pt.trace.json"], timeout=TIMEOUT_S, check=True)


def make_page(name, folder):
    """Writes NAME.html and returns what the same call printed as JSON."""
    command = [part.format(folder=folder) for part in COMMANDS[name]]
    for part in COMMANDS[name]:
        if part.endswith(".html") and not Path(part.format(folder=folder)).exists():
            make_page(Path(part).stem, folder)
    html = folder / f"{name}.html"
    (folder / "made_up.json").write_text(json.dumps(made_up_records()), encoding="utf-8")
    if name == "profile":
        make_trace(folder)
    done = subprocess.run([PLAIT, *command, "--html", str(html), "--format", "json"], cwd=SOURCE,
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"plait {' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return html, json.loads(done.stdout)
