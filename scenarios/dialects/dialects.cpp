#include "scenarios/dialects/dialects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/json.h"
#include "plan/refusal.h"
#include "scenarios/dialects/accelerate.h"
#include "scenarios/dialects/deepspeed.h"
#include "scenarios/dialects/llama_cpp.h"
#include "scenarios/dialects/megatron.h"
#include "scenarios/dialects/ollama.h"
#include "scenarios/dialects/peft.h"
#include "scenarios/dialects/torchtitan.h"
#include "scenarios/dialects/vllm.h"
#include "scenarios/file_kind.h"

namespace plait {

const DialectRow& row_of(Dialect dialect) {
  return *std::ranges::find(kDialects, dialect, &DialectRow::dialect);
}

namespace {

/// D009 for the settings of a program that only trains.
void refuse_to_serve(const Scenario& scenario, const DialectRow& row) {
  if (!scenario.serving || row.serves) return;
  std::vector<std::string_view> others;
  for (const DialectRow& other : kDialects) {
    if (other.serves && other.writes) others.push_back(other.name);
  }
  throw locate(refusal("D009", fmt::format("{} serves no requests", row.name), "serving",
                       "a scenario with a workload",
                       fmt::format("choose the dialect of a program that serves: {}",
                                   fmt::join(others, ", "))),
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
  ExportDraft draft(scenario);
  switch (dialect) {
    case Dialect::kMegatronCore: megatron::write(draft, launcher); break;
    case Dialect::kDeepSpeed: deepspeed::write(draft); break;
    case Dialect::kTorchtitan: torchtitan::write(draft); break;
    case Dialect::kAccelerate: accelerate::write(draft); break;
    case Dialect::kVllm: vllm::write(draft); break;
    case Dialect::kLlamaCpp: llama_cpp::write(draft); break;
    case Dialect::kOllama: ollama::write(draft); break;
    case Dialect::kPeft: PLAIT_CHECK(false, "a dialect that is only read");
  }
  if (launcher != Launcher::kNone) draft.say({"cluster.nodes", "cluster.devices_per_node"});
  return std::move(draft).finish(dialect);
}

void warn_unread(const std::vector<std::string>& names, std::vector<std::string>& warnings) {
  if (!names.empty()) warnings.push_back(fmt::format("W007: not read: {}", fmt::join(names, ", ")));
}

namespace {

Imported read_by(Dialect dialect, const std::string& text, const std::string& file) {
  switch (dialect) {
    case Dialect::kMegatronCore: return megatron::read(text, file);
    case Dialect::kDeepSpeed: return deepspeed::read(text, file);
    case Dialect::kAccelerate: return accelerate::read(text, file);
    case Dialect::kVllm: return vllm::read(text, file);
    case Dialect::kPeft: return peft::read(text, file);
    case Dialect::kLlamaCpp: return llama_cpp::read(text, file);
    case Dialect::kTorchtitan:
    case Dialect::kOllama: break;
  }
  PLAIT_CHECK(false, "a dialect that is only written");
}

constexpr std::string_view kImportable =
    "Megatron-LM, vLLM or llama.cpp arguments, ds_config.json, adapter_config.json, or "
    "Accelerate's YAML";

/// Of JSON. Throws D001 where it says itself that it is something else.
Dialect dialect_of_object(const std::string& text, const std::string& file) {
  const FileKind kind = file_kind(text, file);
  if (kind.format == FileFormat::kPeft) return Dialect::kPeft;
  if (kind.format == FileFormat::kUnknown || kind.format == FileFormat::kDeepSpeed)
    return Dialect::kDeepSpeed;
  throw InputError({"D001",
                    fmt::format("the file holds {}", kind.what),
                    {file, 0, 0, ""},
                    std::string(kImportable),
                    kind.cure});
}

}  // namespace

Imported read_settings(const std::string& text, const std::string& file, Dialect dialect) {
  Imported out = read_by(dialect, std::string(without_mark(text)), file);
  if (!out.foreign) return out;
  throw InputError({"D010",
                    fmt::format("nothing in the file is of {}", row_of(dialect).target),
                    {file, 0, 0, ""},
                    "one option or key of that program at least",
                    "name the file's dialect with --from"});
}

Dialect detect_dialect(const std::string& marked, const std::string& file) {
  const std::string text(without_mark(marked));
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (const std::size_t first = text.find_first_not_of(" \t\r\n");
      first != std::string::npos && text[first] == '{') {
    return dialect_of_object(text, file);
  }
  if (has("distributed_type:")) return Dialect::kAccelerate;
  if (llama_cpp::starts(text)) return Dialect::kLlamaCpp;
  if (has("vllm") || has("--tensor-parallel-size")) return Dialect::kVllm;
  if (has("-model-parallel-size") || has("--num-layers") || has("--micro-batch-size")) {
    return Dialect::kMegatronCore;
  }
  throw InputError({"D001",
                    "the content is of no format that can be imported",
                    {file, 0, 0, ""},
                    std::string(kImportable),
                    "name it with --from"});
}

}  // namespace plait
