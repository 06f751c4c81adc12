#include "scenarios/dialects/dialects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "plan/refusal.h"
#include "plan/require_hybrid.h"
#include "scenarios/dialects/accelerate/accelerate.h"
#include "scenarios/dialects/deepspeed/deepspeed.h"
#include "scenarios/dialects/llama_cpp/llama_cpp.h"
#include "scenarios/dialects/llama_cpp/ollama.h"
#include "scenarios/dialects/megatron/megatron.h"
#include "scenarios/dialects/peft.h"
#include "scenarios/dialects/torchtitan/torchtitan.h"
#include "scenarios/dialects/vllm/vllm.h"

namespace plait {

namespace {

constexpr std::array<DialectRow, 8> kDialects = {{
    {.dialect = Dialect::kMegatronCore,
     .name = "megatron-core",
     .suffix = "args",
     .target = "arguments of Megatron-LM's pretrain_gpt.py (at commit 000c4ac2)",
     .read = megatron::read,
     .write = megatron::write,
     .launches = true},
    {.dialect = Dialect::kDeepSpeed,
     .name = "deepspeed",
     .suffix = "json",
     .target = "ds_config.json of DeepSpeed (at commit 1b88ac36)",
     .read = deepspeed::read,
     .write = deepspeed::write},
    {.dialect = Dialect::kTorchtitan,
     .name = "torchtitan",
     .suffix = "toml",
     .target = "job configuration of torchtitan (at commit 6404b932)",
     .read = torchtitan::read,
     .write = torchtitan::write,
     .launches = true},
    {.dialect = Dialect::kAccelerate,
     .name = "accelerate",
     .suffix = "yaml",
     .target = "configuration file of Accelerate (1.10 and later)",
     .read = accelerate::read,
     .write = accelerate::write},
    {.dialect = Dialect::kVllm,
     .name = "vllm",
     .suffix = "sh",
     .target = "arguments of vllm serve (vLLM 0.24.0)",
     .read = vllm::read,
     .write = vllm::write,
     .serves = true},
    {.dialect = Dialect::kPeft,
     .name = "peft",
     .suffix = "json",
     .target = "adapter_config.json of PEFT (0.17 and before)",
     .read = peft::read,
     .write = nullptr},
    {.dialect = Dialect::kLlamaCpp,
     .name = "llama.cpp",
     .suffix = "sh",
     .target = "arguments of llama-server (llama.cpp at commit 00dc8057)",
     .read = llama_cpp::read,
     .write = llama_cpp::write,
     .trains = false,
     .serves = true},
    {.dialect = Dialect::kOllama,
     .name = "ollama",
     .suffix = "Modelfile",
     .target = "Modelfile and environment of Ollama (at commit 071c82b1)",
     .read = nullptr,
     .write = ollama::write,
     .trains = false,
     .serves = true},
}};

}  // namespace

std::span<const DialectRow> dialects() { return kDialects; }

const DialectRow& row_of(Dialect dialect) {
  return *std::ranges::find(kDialects, dialect, &DialectRow::dialect);
}

namespace {

/// D009 for the settings of a program that only trains.
void refuse_to_serve(const Scenario& scenario, const DialectRow& row) {
  if (!scenario.serving || row.serves) return;
  std::vector<std::string_view> others;
  for (const DialectRow& other : kDialects) {
    if (other.serves && other.writes()) others.push_back(other.name);
  }
  throw locate(refusal("D009", fmt::format("{} serves no requests", row.name), "serving",
                       "a scenario with a workload",
                       fmt::format("choose the dialect of a program that serves: {}",
                                   fmt::join(others, ", "))),
               scenario);
}

/// D007: torchrun starts a rank on each device.
void refuse_other_ranks(const Scenario& scenario) {
  const std::int64_t ranks = scenario.strategy.mesh.world_size();
  const std::int64_t devices = scenario.cluster.world_size();
  if (ranks == devices) return;
  throw locate(refusal("D007",
                       fmt::format("the program has {} ranks where torchrun starts one on each of "
                                   "{} devices",
                                   ranks, devices),
                       "strategy", "as many ranks as devices",
                       "leave --launcher out, or split all stages over as many ranks"),
               scenario);
}

}  // namespace

Settings settings_of(const Scenario& scenario, Dialect dialect, Launcher launcher) {
  const DialectRow& row = row_of(dialect);
  if (launcher != Launcher::kNone && !row.launches) {
    throw InputError({"D007",
                      fmt::format("torchrun does not start {}", row.name),
                      {},
                      "megatron-core or torchtitan",
                      "leave --launcher out"});
  }
  refuse_to_serve(scenario, row);
  PLAIT_CHECK(row.writes(), "a dialect that is only read");
  if (launcher != Launcher::kNone) refuse_other_ranks(scenario);
  require_hybrid(scenario.model);  // what each layer has is asked below
  ExportDraft draft(scenario, launcher);
  row.write(draft);
  if (launcher != Launcher::kNone) draft.say({"cluster.nodes", "cluster.devices_per_node"});
  return std::move(draft).finish(dialect);
}

void warn_unread(const std::vector<std::string>& names, Warnings& warnings) {
  if (!names.empty())
    warnings.push_back({"W007", fmt::format("not read: {}", fmt::join(names, ", "))});
}

}  // namespace plait
