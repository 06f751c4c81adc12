#pragma once
// A record of a published run, for tests to change.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/published/record.h"
#include "scenarios/published/scenario_of.h"

namespace plait {

/// A run of a 1.3B GPT on two nodes, as record files write it.
inline nlohmann::json published_sample() {
  return nlohmann::json::parse(R"({
    "id": "sample#1", "source": "Narayanan et al. SC21", "tier": "A", "task_kind": "pretrain",
    "model": {"name": "GPT", "layers": 24, "hidden": 2048, "ffn_hidden": 8192, "heads": 16,
              "kv_heads": 16, "vocab": 50257, "seq_len": 1024, "gated_mlp": false},
    "cluster": {"gpu": "A100-SXM4-80GB", "num_gpus": 16, "gpus_per_node": 8,
                "interconnect": "8x HDR 200 Gb/s IB per node"},
    "parallel": {"tp": 2, "sp": false, "cp": 1, "ep": 1, "pp": 4, "vpp": 3, "dp": 2,
                 "schedule": "interleaved 1F1B", "zero_stage": 0},
    "batch": {"global_batch": 64, "micro_batch": 2},
    "precision": "fp16", "recompute": "full",
    "measured": {"tokens_per_s_per_gpu": 1000, "oom": false, "peak_memory_gb_nvidia_smi": 20}})");
}

inline PublishedRun run_of(const nlohmann::json& record) {
  return read_published_runs(parse_json(nlohmann::json::array({record}).dump(), "runs.json")).at(0);
}

/// What it is read as.
inline nlohmann::json scenario(const nlohmann::json& record) {
  return nlohmann::json::parse(scenario_of(run_of(record)).json);
}

/// Whether `words` stand among what is assumed for it, once.
inline bool assumes(const nlohmann::json& record, const std::string& words) {
  return std::ranges::count(scenario_of(run_of(record)).assumed, words) == 1;
}

}  // namespace plait
