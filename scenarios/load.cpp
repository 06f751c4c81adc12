#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>

#include "core/file.h"
#include "core/spelling.h"
#include "model/presets.h"
#include "plan/strategies/stage_tp.h"
#include "scenarios/file_kind.h"
#include "scenarios/framework.h"
#include "scenarios/idle_fields.h"
#include "scenarios/missing_kernels.h"
#include "scenarios/names_elsewhere.h"
#include "scenarios/open.h"
#include "scenarios/overrides.h"
#include "scenarios/resolve.h"
#include "scenarios/scenario.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

/// Whether it is a value, and one of `overrides` said it.
bool is_overridden(const Json* json, const std::vector<Override>& overrides) {
  return json != nullptr && std::ranges::count(overrides, json->where().file, place_of) > 0;
}

/// The value at `path`, or the text that stands for the section which it is in; nullptr: neither.
const Json* stated_at(const Json& root, const std::string& path) {
  const Json& json = root.innermost(path);
  return json.path() == path || json.is(Json::Kind::kText) ? &json : nullptr;
}

std::string name_of_file(const std::string& file) {
  return std::filesystem::path(file).stem().string();
}

std::string other_names() {
  std::string out =
      "\n## Other names\n\n"
      "On the command line (`--set`, `-L`) these paths have a second name.\n\n"
      "| name | path | meaning |\n|---|---|---|\n";
  for (const OtherName& n : kOtherNames) {
    out += fmt::format("| `{}` | `{}` | {} |\n", n.name, n.path, n.meaning);
  }
  return out;
}

/// Types that follow from others when absent.
void resolve_precision(const Json* json, Precision& p) {
  if (json == nullptr || json->find("reduction") == nullptr) p.reduction = p.gradients;
  if (json == nullptr || json->find("matmul") == nullptr) p.matmul = p.weights;
  if (p.narrows() || p.matmul == p.weights) return;
  throw InputError({"S047",
                    fmt::format("matrix products in {} with weights in {}", name_of(p.matmul),
                                name_of(p.weights)),
                    {"", 0, 0, "workload.precision.matmul"},
                    "fp8, nvfp4, or the type of workload.precision.weights",
                    "leave workload.precision.matmul out, or set it to \"fp8\" or \"nvfp4\"",
                    {"workload.precision.weights"}});
}

/// Paths that the framework of a scenario filled in.
using FilledIn = std::vector<std::string>;

/// W001.
void warn_of_idle_fields(const Json& root, const FilledIn& filled_in, const ScenarioParts& parts,
                         Scenario& out) {
  append(out.warnings, idle_fields(root, filled_in, parts, out));
  if (const Json* strategy = root.find("strategy"); strategy != nullptr && out.serving) {
    std::vector<std::string> written;
    for (const Json* member : strategy->children()) {
      if (says_itself(root, filled_in, "strategy." + member->key()))
        written.push_back(member->key());
    }
    append(out.warnings, idle_in_serving(written));
  }
}

/// A framework's times are those of a DGX H100's host. All ranks have hosts of the same speed: the
/// slowest.
void resolve_host(const Json* host, const FilledIn& filled_in, const Cluster& cluster, Host& out) {
  double slowdown = cluster.host_slowdown;
  for (const OtherKind& other : cluster.others) slowdown = std::max(slowdown, other.host_slowdown);
  const auto is_frameworks = [&filled_in](const char* path) {
    return std::ranges::find(filled_in, path) != filled_in.end();
  };
  const bool launches = is_frameworks("host.launch_time");
  const bool collectives = is_frameworks("host.collective_time");
  if (launches) out.launch_time *= slowdown;
  const bool none = host == nullptr || host->find("collective_time") == nullptr;
  if (none || (collectives && !launches)) {
    out.collective_time = out.launch_time;
  } else if (collectives) {
    out.collective_time *= slowdown;
  }
}

/// A layer's pass is no CUDA graph where the host must be told in it how many tokens experts have.
void require_graphs(const Host& host, const Model& model) {
  if (!host.graphs || !host.waits_for_routing || model.experts == 0) return;
  throw InputError({"S198",
                    "layers as CUDA graphs, and a host that waits to be told how many tokens each "
                    "expert has",
                    {"", 0, 0, "host.graphs"},
                    "counts that no host waits for: workload.capacity_factor, or "
                    "host.waits_for_routing = false",
                    "set host.routing_graph to true for a graph of what comes before the wait, or "
                    "workload.capacity_factor to pad experts' tokens",
                    {"host.waits_for_routing", "workload.capacity_factor"}});
}

/// What is asked of the model: a workload to train on, or requests to serve.
void resolve_task(const Json& root, const ScenarioParts& parts, Scenario& out) {
  require_one_task(root);
  if (const Json* serving = root.find("serving")) {
    out.serving = resolve_serving(*serving, parts.serving, out.source_file, out.warnings);
    return;
  }
  out.workload = parts.workload;
  if (root.find("training") != nullptr) out.training = parts.training;
  resolve_precision(root.find("workload")->find("precision"), out.workload.precision);
}

void resolve_machine(const Json& root, ScenarioParts& parts, Scenario& out) {
  out.cluster = resolve_cluster(*root.find("cluster"), parts.cluster);
  resolve_processor(parts.strategy.offload, out, parts.cluster, out.warnings);
  warn_of_links(parts.cluster, out.cluster, out.warnings);
  out.processor = parts.cluster.processor.value;
  out.storage_bandwidth = parts.cluster.storage_bandwidth;
  out.storage_write_bandwidth = parts.cluster.storage_write_bandwidth;
  out.price_per_device_hour = parts.cluster.price_per_device_hour;
}

/// What of the task depends on the device, which is known only now.
void resolve_on_machine(const Json& root, Scenario& out) {
  if (!out.serving) {
    warn_of_slow_products(out.cluster.device, out.workload.precision, out.warnings);
    return;
  }
  const Json& serving = *root.find("serving");
  resolve_types(serving, out.cluster.device, *out.serving, out.warnings);
  resolve_llama_cpp(serving, out.cluster.device, *out.serving);
  resolve_disaggregation(root, out.cluster.world_size(), *out.serving);
  resolve_batches(serving, out.cluster.device, *out.serving);
}

/// Training starts from weights of workload.precision, however a checkpoint has them.
void resolve_weights(const Json& root, const HfQuantization& checkpoint, Scenario& out) {
  if (!out.serving) {
    out.warnings.push_back(
        {"W002", "model.hf_config: ignored quantization_config: serving has it"});
    return;
  }
  resolve_checkpoint(*root.find("serving"), checkpoint, out.cluster.device, *out.serving,
                     out.warnings);
}

/// How the work is split, and where the ranks run.
void resolve_layout(const Json& root, ScenarioParts& parts, Scenario& out) {
  resolve_chunks(root, parts.strategy.pipeline);
  out.strategy = resolve_strategy(parts.strategy, out.cluster.world_size());
  Placement placement = resolve_placement(
      parts.placement, out.strategy.mesh, out.cluster.devices_per_node,
      stages_differ(out.strategy) ? std::optional(out.cluster.world_size()) : std::nullopt);
  out.placement_rule = {parts.placement.order, parts.placement.stages_per_node};
  out.placement = std::move(placement.devices);
  out.placement_words = std::move(placement.words);
}

void resolve(const JsonDocument& document, const FilledIn& filled_in, Scenario& out) {
  const Json& root = document.root();
  ScenarioParts parts;
  scenario_table().read(root, parts);
  out.name = parts.name.empty() ? name_of_file(out.source_file) : parts.name;
  out.comment = parts.comment;
  resolve_task(root, parts, out);
  const std::int64_t longest =
      out.serving ? out.serving->limits.max_context : out.workload.sequence_length;
  ResolvedModel resolved =
      resolve_model(root.find("model"), parts.model, out.source_file, longest, out.warnings);
  out.model = std::move(resolved.model);
  if (!out.serving) require_learned_positions(out.model, longest);
  if (out.model.experts == 0) out.workload.capacity_factor = 0;  // no token is dropped
  resolve_machine(root, parts, out);
  resolve_on_machine(root, out);
  if (resolved.quantization) {
    resolve_weights(root, *resolved.quantization, out);
  }
  out.kernels = parts.kernels;
  if (out.serving) resolve_engine_kernels(root.find("kernels"), resolved.quantization, out);
  const bool pads = out.serving || out.workload.precision.narrows();
  if (!pads) out.kernels.expert_padding = Fusion::kFused;  // rows of products in 8 bits
  out.memory = parts.memory;
  resolve_layout(root, parts, out);
  out.host = parts.host;
  if (out.workload.capacity_factor > 0) out.host.waits_for_routing = false;
  resolve_host(root.find("host"), filled_in, out.cluster, out.host);
  if (!out.serving) require_graphs(out.host, out.model);
  const CalibrationFile calibration = resolve_calibration(parts.calibration, out.source_file);
  out.calibration = calibration.path;
  out.framework = parts.framework;
  out.flow_network = parts.network == "flow" || out.cluster.shares_memory();
  out.interference = parts.interference;
  warn_of_idle_fields(root, filled_in, parts, out);
  out.canonical_json =
      canonical_json(out, parts.strategy, parts.cluster, parts.placement, calibration.sha256);
}

/// Where it is another program's file, that is the message.
JsonDocument parsed_scenario(const std::string& text, const std::string& file) {
  try {
    JsonDocument document = parse_json(text, file);
    const Json& root = document.root();
    const bool is_result = root.find("scenario") != nullptr;
    if (is_result || root.find("model") == nullptr) refuse_other_files(text, file);
    return document;
  } catch (const InputError& error) {
    if (error.text().code == "J005") refuse_other_files(text, file);
    throw;
  }
}

/// A model's configuration where the name of a preset belongs.
void refuse_file_as_model(const Json& root) {
  const Json* model = root.find("model");
  if (model == nullptr || !model->is(Json::Kind::kText)) return;
  const std::string name = model->text();
  const bool is_file = name.ends_with(".json");
  const bool is_of_hub = name.find('/') != std::string::npos;
  if (!is_file && !(is_of_hub && names_like(name, preset_names()).empty())) return;
  throw InputError({.code = "F004",
                    .problem = fmt::format("model cannot be {}", model->describe()),
                    .where = model->where(),
                    .expected = "the name of a preset (`plait list models`), or an object",
                    .cure = fmt::format(R"({}"model": {{"hf_config": "{}"}})",
                                        is_file ? "" : "download its config.json and write ",
                                        is_file ? name : "config.json")});
}

}  // namespace

JsonDocument changed_document(const std::string& text, const std::string& file,
                              const std::vector<Override>& overrides) {
  JsonDocument document = parsed_scenario(text, file);
  for (const Override& o : overrides) {
    refuse_unknown_other_name(o);
    try {
      apply_override(document, scenario_shape(), canonical_path(o.path), with_quotes(o.value),
                     place_of(o));
    } catch (const InputError& e) {
      throw with_field_meant(e, document.root());
    }
  }
  refuse_file_as_model(document.root());
  return document;
}

WrittenSizes written_sizes(const std::string& text, const std::string& file,
                           const std::vector<Override>& overrides) {
  const JsonDocument document = changed_document(text, file, overrides);
  ScenarioParts parts;
  scenario_table().read(document.root(), parts);
  WrittenSizes out;
  out.mesh[Axis::kPp] = parts.strategy.pp;
  out.mesh[Axis::kDp] = parts.strategy.dp;
  out.mesh[Axis::kFsdp] = parts.strategy.fsdp;
  out.mesh[Axis::kCp] = parts.strategy.cp;
  out.mesh[Axis::kEp] = parts.strategy.ep;
  out.mesh[Axis::kTp] = parts.strategy.tp;
  if (!parts.strategy.stage_tp.empty()) {  // as many ranks of a replica as they say in all
    const auto& degrees = parts.strategy.stage_tp;
    out.mesh[Axis::kPp] = 1;
    out.mesh[Axis::kTp] = std::accumulate(degrees.begin(), degrees.end(), std::int64_t{0});
  }
  out.devices = resolve_cluster(*document.root().find("cluster"), parts.cluster).world_size();
  return out;
}

Scenario read_scenario(const std::shared_ptr<JsonDocument>& document, const std::string& file,
                       const std::vector<Override>& overrides) {
  Scenario out;
  const FilledIn filled_in = fill_in_framework(*document, out.warnings);
  out.source_file = file;
  out.source = document;
  out.overrides = overrides;
  try {
    resolve(*document, filled_in, out);
  } catch (const InputError& e) {
    throw with_field_meant(locate(e, out), document->root());
  }
  return out;
}

Scenario parse_scenario(const std::string& text, const std::string& file,
                        const std::vector<Override>& overrides) {
  auto document = std::make_shared<JsonDocument>(changed_document(text, file, overrides));
  refuse_open_fields(document->root());
  Scenario out = read_scenario(document, file, overrides);
  require_plannable(out);
  warn_of_missing_kernels(out);
  return out;
}

Scenario load_scenario(const std::string& path, const std::vector<Override>& overrides) {
  return parse_scenario(read_text_file(path), input_name(path), overrides);
}

InputError locate(const InputError& error, const Scenario& scenario) {
  InputError::Text text = error.text();
  if (scenario.source == nullptr || !text.where.file.empty()) return error;
  const Json& root = scenario.source->root();
  const std::string path = text.where.path;
  text.where = root.innermost(path).where();
  if (!path.empty()) text.where.path = path;
  const Json* own = stated_at(root, path);
  const bool is_section = own != nullptr && own->is(Json::Kind::kObject);
  if (!is_section && is_overridden(own, scenario.overrides)) return InputError(std::move(text));
  for (const std::string& other : text.others) {
    const Json* json = stated_at(root, other);
    if (!is_overridden(json, scenario.overrides)) continue;
    text.where = json->where();
    if (!is_section) text.where.path = path;  // of which "expected" speaks
    return InputError(std::move(text));
  }
  // What a framework's profile has made of a section is not what its user has written.
  const auto written = [&](const Json* json) {
    return json != nullptr && json->where().file == scenario.source_file;
  };
  if (!is_section || written(own)) return InputError(std::move(text));
  const auto other = std::ranges::find_if(
      text.others, [&](const std::string& at) { return written(stated_at(root, at)); });
  if (other != text.others.end()) text.where = stated_at(root, *other)->where();
  return InputError(std::move(text));
}

std::string scenario_schema() { return schema_document(scenario_shape(), "Plait scenario"); }

std::string scenario_reference() {
  return "# Scenario files\n\n"
         "A scenario says what is trained, how it is split and on which machine. It is JSON, with "
         "`//` comments allowed. Quantities are texts with their unit (`\"450 GB/s\"`, `\"80 "
         "GiB\"`, "
         "`\"2 us\"`); GB is 10^9 bytes and GiB 2^30; bandwidths are per direction. Any key can be "
         "set from the command line: `--set strategy.tp=4`.\n\n"
         "This page is made from the tables that the reader uses. A field with a star may be left "
         "open for `plait search`: `\"auto\"`, a list of values or a range such as "
         "`\"2..16\"`.\n\n" +
         reference_of(scenario_shape()) + other_names();
}

}  // namespace plait
