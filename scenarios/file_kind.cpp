#include "scenarios/file_kind.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "core/json.h"
#include "scenarios/dialects/dialects.h"
#include "topologies/importers/gpu_list.h"

namespace plait {
namespace {

struct Sign {
  std::string_view key;  // of the top level
  FileFormat format;
  std::string_view what;  // the file is that has it
  std::string_view cure;  // {}: its name
};
constexpr std::string_view kItsScenario = "name the scenario that it is of";
/// The first key that stands in the file decides.
constexpr std::array<Sign, 20> kSigns = {{
    // Results name their scenario's model too, and a step that ran has a time as a predicted one.
    {"steps_s", FileFormat::kOther, "a measurement of plait realrun",
     "name the scenario that it is of; plait realrun --calibration FILE compares the two"},
    {"step_time_s", FileFormat::kOther, "a result of plait run", "plait compare {}"},
    {"changes_that_fit", FileFormat::kOther, "a result of plait check", kItsScenario},
    {"kv_cache", FileFormat::kOther, "a result of plait serve", kItsScenario},
    {"layouts", FileFormat::kOther, "a result of plait search", kItsScenario},
    {"points", FileFormat::kOther, "a result of plait whatif", kItsScenario},
    {"candidates", FileFormat::kOther, "a result of plait compare", kItsScenario},
    {"model", FileFormat::kScenario, "a scenario", "plait run {}"},
    {"workload", FileFormat::kScenario, "a scenario", "plait run {}"},
    {"serving", FileFormat::kScenario, "a scenario", "plait serve {}"},
    {"model_type", FileFormat::kOther, "a Hugging Face config.json",
     R"(name it in a scenario: "model": {{"hf_config": "{}"}})"},
    {"peft_type", FileFormat::kPeft, "an adapter_config.json of PEFT",
     "plait import {} --base SCENARIO -o mine.json"},
    {"distributed_type", FileFormat::kAccelerate, "a configuration file of Accelerate",
     "plait import {} --base SCENARIO -o mine.json"},
    {"compute_environment", FileFormat::kAccelerate, "a configuration file of Accelerate",
     "plait import {} --base SCENARIO -o mine.json"},
    {"zero_optimization", FileFormat::kDeepSpeed, "a ds_config.json of DeepSpeed",
     "plait import {} --base SCENARIO -o mine.json"},
    {"train_batch_size", FileFormat::kDeepSpeed, "a ds_config.json of DeepSpeed",
     "plait import {} --base SCENARIO -o mine.json"},
    {"train_micro_batch_size_per_gpu", FileFormat::kDeepSpeed, "a ds_config.json of DeepSpeed",
     "plait import {} --base SCENARIO -o mine.json"},
    {"gradient_accumulation_steps", FileFormat::kDeepSpeed, "a ds_config.json of DeepSpeed",
     "plait import {} --base SCENARIO -o mine.json"},
    {"devices_per_node", FileFormat::kOther, "a cluster alone",
     R"(put it into a scenario: "cluster": ...)"},
    {"node", FileFormat::kOther, "a cluster alone", R"(put it into a scenario: "cluster": ...)"},
}};

FileKind kind_of_object(const Json& root, const std::string& file) {
  for (const Sign& s : kSigns) {
    if (root.find(s.key) == nullptr) continue;
    return {s.format, std::string(s.what), fmt::format(fmt::runtime(s.cure), file)};
  }
  return {};
}

bool has(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

FileKind kind_of_text(const std::string& text, const std::string& file) {
  if (text.starts_with("<!doctype html>")) {
    return {FileFormat::kOther, "a page",
            fmt::format("name the scenario that it is of; plait compare {} reads one of plait run",
                        file)};
  }
  const bool matrix = has(text, "GPU0") && (has(text, "NODE") || has(text, "SYS") ||
                                            has(text, "PIX") || has(text, "NV"));
  if (matrix || has(text, "<system version")) {
    return {FileFormat::kOther, "a topology of nvidia-smi or NCCL",
            fmt::format("plait topology import {} --device NAME -o cluster.json", file)};
  }
  if (lists_gpus(text)) {
    return {FileFormat::kOther, "a list of GPUs of nvidia-smi",
            fmt::format("plait topology import {} -o cluster.json", file)};
  }
  try {
    const DialectRow& row = row_of(detect_dialect(text, file));
    return {FileFormat::kOther, fmt::format("settings in the dialect {}: {}", row.name, row.target),
            fmt::format("plait import {} --base SCENARIO -o mine.json", file)};
  } catch (const InputError&) {
    return {};
  }
}

}  // namespace

FileKind file_kind(const std::string& text, const std::string& file) {
  try {
    const JsonDocument document = parse_json(text, file);
    return kind_of_object(document.root(), file);
  } catch (const InputError&) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const bool meant_as_json = first != std::string::npos && text[first] == '{';
    return meant_as_json ? FileKind{} : kind_of_text(text, file);
  }
}

void refuse_other_files(const std::string& text, const std::string& file) {
  const FileKind kind = file_kind(text, file);
  if (kind.format == FileFormat::kUnknown || kind.format == FileFormat::kScenario) return;
  throw InputError({"F006",
                    fmt::format("the file holds {}", kind.what),
                    {file, 0, 0, ""},
                    "a scenario",
                    kind.cure});
}

}  // namespace plait
