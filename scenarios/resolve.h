#pragma once
// From what a scenario file says to what it means: presets with their changes applied, and numbers
// that follow from others filled in. Errors that name only a path get their place from `locate` at
// the end of loading.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/warning.h"
#include "model/hf_config.h"
#include "plan/refusal.h"
#include "scenarios/fields.h"
#include "scenarios/scenario.h"

namespace plait {

/// Throws `refusal` of a field.
[[noreturn]] inline void refuse_field(const char* code, const std::string& problem,
                                      const std::string& path, const std::string& expected,
                                      const std::string& cure,
                                      const std::vector<std::string>& others = {}) {
  throw refusal(code, problem, path, expected, cure, others);
}

/// The text with overrides applied, as JSON. Throws InputError J0xx, F005.
JsonDocument changed_document(const std::string& text, const std::string& file,
                              const std::vector<Override>& overrides);
/// What a document means, in which `overrides` are. Throws as parse_scenario does.
Scenario read_scenario(const std::shared_ptr<JsonDocument>& document, const std::string& file,
                       const std::vector<Override>& overrides);

/// A plan has a few bytes for each pass of a microbatch through a layer: of very many it would be
/// larger than memory. Throws InputError S166.
void require_plannable(const Scenario& scenario);

/// `quantization`: of the checkpoint, where a config.json says any.
struct ResolvedModel {
  Model model;
  std::optional<HfQuantization> quantization;
};
/// The model: preset or config.json, then the changes, then what follows from these. Throws
/// InputError M0xx, S003 and S005. Appends a warning for each ignored key of a config.json.
ResolvedModel resolve_model(const Json* json, ModelPart part, const std::string& scenario_file,
                            std::int64_t sequence_length, Warnings& warnings);
/// Throws InputError S004 where a workload's sequences are longer than the table of positions.
void require_learned_positions(const Model& model, std::int64_t sequence_length);

/// Fills presets of node, device and fabric in `part`, and makes the cluster. Throws C0xx.
Cluster resolve_cluster(const Json& json, ClusterPart& part);
/// The node's usual processors, where the task has something for them and the scenario names none.
/// `offload`: of what is trained. Throws InputError S200 where the device's memory is theirs;
/// appends W031 where activations go to a memory of which nothing says how large it is.
void resolve_processor(const OffloadOptions& offload, const Scenario& task, ClusterPart& part,
                       Warnings& warnings);
/// W021 for a node or fabric of the scenario's own, begun with no preset, whose links take no time
/// but their bytes'; W027 for NICs faster than the PCIe that they are behind. Both as
/// resolve_cluster has left and made them.
void warn_of_links(const ClusterPart& part, const Cluster& cluster, Warnings& warnings);

/// Where the calibration is, and its hash; throws InputError J00x for a file that cannot be read.
struct CalibrationFile {
  std::string path, sha256;
};
CalibrationFile resolve_calibration(const std::string& path, const std::string& scenario_file);

/// Where the schedule has one number of chunks, that is meant without one.
void resolve_chunks(const Json& root, PipelineOptions& pipeline);

/// dp and zero_stage where absent; the product of the axes against the devices. Throws S001, S002.
Strategy resolve_strategy(StrategyPart& part, std::int64_t world_size);

/// Serving: types that follow from others, the longest sequence, the trace's path. Throws S062,
/// S063, S183, S195; appends W001 for fields without effect.
Serving resolve_serving(const Json& json, Serving serving, const std::string& scenario_file,
                        Warnings& warnings);
/// The share of a device's memory that llama.cpp takes with such a rule.
double llama_cpp_memory_share(const LayerRule& rule, const Device& device);
/// That of the scenario's engine, where `serving` does not say.
void resolve_llama_cpp(const Json& serving, const Device& device, Serving& out);
/// Weights and products as `checkpoint` has them, where `serving` says nothing of any, in a server
/// that loads such checkpoints; else W002.
void resolve_checkpoint(const Json& serving, const HfQuantization& checkpoint, const Device& device,
                        Serving& out, Warnings& warnings);
/// Kernels that the engine of `out` has, which serves, where `kernels` (which may be absent) does
/// not say: llama.cpp's products with queries', keys' and values' matrices are one each
/// (src/models, wq, wk and wv). Those with gate and up it joined in October 2025, for one token
/// (pull request 16715). Products in 8 bits have scales of blocks where the checkpoint has: that of
/// `checkpoint` or, where the scenario names none, the one that its model is published as.
void resolve_engine_kernels(const Json* kernels, const std::optional<HfQuantization>& checkpoint,
                            Scenario& out);
/// The engines of `serving.disaggregated` where it is written: what they do not say as
/// serving.engine, and a dp that is absent so that the pools fill the devices. Throws S185, S186.
void resolve_disaggregation(const Json& root, std::int64_t devices, Serving& serving);
/// The type that vLLM takes where `serving` does not say one: fp16 on devices that have no bf16.
/// Appends W014 where it is bf16 there, with which vLLM does not start.
void resolve_types(const Json& serving, const Device& device, Serving& out, Warnings& warnings);
/// Sizes of a step that neither `serving.engine` nor a pool's own says: vLLM's, which depend on the
/// device.
void resolve_batches(const Json& serving, const Device& device, Serving& out);
/// Throws F002 for neither workload nor serving, S064 for both.
void require_one_task(const Json& root);
/// W001: options of the strategy (its keys) that serving does not look at.
Warnings idle_in_serving(const std::vector<std::string>& written);

/// The resolved scenario as compact JSON, every field, keys sorted. A calibration is quoted by its
/// hash.
std::string canonical_json(const Scenario& scenario, const StrategyPart& strategy,
                           const ClusterPart& cluster, const PlacementPart& placement,
                           const std::string& calibration_sha256);

}  // namespace plait
