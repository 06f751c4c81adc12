#include "scenarios/published/members.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "core/json_text.h"
#include "core/spelling.h"
#include "scenarios/fields.h"

namespace plait {
namespace {

using MemberNames = std::span<const std::string_view>;

constexpr std::string_view kOfRecord[] = {
    "id",         "source",    "tier",   "task_kind", "notes",
    "flags",      "framework", "system", "kernel",    "adapters",
    "extra_args", "precision", "model",  "cluster",   "recompute",
    "optimizer",  "parallel",  "batch",  "measured",  "stage_profile_ms",
};
constexpr std::string_view kOfModel[] = {
    "name",
    "layers",
    "hidden",
    "ffn_hidden",
    "heads",
    "kv_heads",
    "vocab",
    "seq_len",
    "experts",
    "topk",
    "attention",
    "moe_ffn_hidden",
    "shared_experts",
    "first_dense_layers",
    "gated_mlp",
    "untied",
    "tied_embeddings",
};
constexpr std::string_view kOfCluster[] = {"gpu", "num_gpus", "gpus_per_node", "interconnect"};
constexpr std::string_view kOfParallel[] = {
    "tp", "cp", "pp", "dp", "ep", "etp", "sp", "vpp", "schedule", "fsdp", "offload", "zero_stage"};
constexpr std::string_view kOfBatch[] = {"global_batch", "micro_batch", "grad_accum"};
constexpr std::string_view kOfMeasured[] = {
    "iteration_time_s",
    "tokens_per_s",
    "tokens_per_s_per_gpu",
    "samples_per_s",
    "tflops_per_gpu",
    "samples_per_s_per_gpu",
    "model_tflops_per_gpu",
    "hw_tflops_per_gpu",
    "mfu",
    "hfu",
    "oom",
    "peak_memory_gib",
    "peak_memory_mib",
    "peak_memory_gb",
    "mem_max_allocated_bytes",
    "peak_memory_gb_nvidia_smi",
};

/// For people: where a record is from, how sure its transcriber is, what follows from the rest.
constexpr std::string_view kToldOfRecord[] = {
    "confidence", "knob_confidence",
    "provenance", "quality",
    "release",    "section",
    "strategy",   "task",
    "tiny",       "theoretical_bubble_rate",
    "comment",    "earlier_published_values_same_key",
};
constexpr std::string_view kToldOfModel[] = {"params", "params_active", "arch_source"};
constexpr std::string_view kToldOfMeasured[] = {
    "aggregate_pflops",    "tflops_per_gpu_megatron_formula",
    "fraction_of_peak",    "error",
    "iteration_time_n",    "peak_memory_gb_per_pp_stage",
    "mem_allocated_bytes", "iteration_time_min_s",
};
constexpr std::string_view kToldOfBatch[] = {"grad_accum_published", "num_microbatches"};

/// What other configurations call a member.
struct Misnamed {
  std::string_view name, member;
};
constexpr Misnamed kMisnamed[] = {
    {"zero", "zero_stage"},
    {"zero_level", "zero_stage"},
    {"microbatch", "micro_batch"},
    {"microbatch_size", "micro_batch"},
    {"mbs", "micro_batch"},
    {"gbs", "global_batch"},
    {"batch_size", "global_batch"},
    {"gradient_accumulation_steps", "grad_accum"},
    {"tensor_parallel", "tp"},
    {"pipeline_parallel", "pp"},
    {"data_parallel", "dp"},
    {"context_parallel", "cp"},
    {"expert_parallel", "ep"},
    {"sequence_parallel", "sp"},
    {"virtual_stages", "vpp"},
    {"gpus", "num_gpus"},
    {"sequence_length", "seq_len"},
    {"num_layers", "layers"},
    {"num_hidden_layers", "layers"},
    {"hidden_size", "hidden"},
    {"intermediate_size", "ffn_hidden"},
    {"ffn", "ffn_hidden"},
    {"num_attention_heads", "heads"},
    {"num_key_value_heads", "kv_heads"},
    {"num_query_groups", "kv_heads"},
    {"vocab_size", "vocab"},
    {"tie_embeddings", "tied_embeddings"},
    {"tie_word_embeddings", "tied_embeddings"},
    {"sliding_window", "attention_window"},
    {"window", "attention_window"},
    {"num_experts", "experts"},
    {"num_experts_per_tok", "topk"},
    {"moe_intermediate_size", "moe_ffn_hidden"},
    {"moe_intermediate", "moe_ffn_hidden"},
    {"n_shared_experts", "shared_experts"},
    {"first_k_dense_replace", "first_dense_layers"},
    {"qk_rope_head_dim", "rope_head_dim"},
    {"kernels", "kernel"},
    {"lora", "adapters"},
    {"checkpointing", "recompute"},
    {"activation_checkpointing", "recompute"},
    {"dtype", "precision"},
    {"step_time_s", "iteration_time_s"},
    {"tokens_per_gpu_per_s", "tokens_per_s_per_gpu"},
    {"tokens_per_second", "tokens_per_s"},
    {"tokens_per_second_per_gpu", "tokens_per_s_per_gpu"},
    {"memory_gb", "peak_memory_gb"},
    {"peak_memory_gb_allocated", "mem_max_allocated_bytes"},
};

bool is_among(MemberNames names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_field_of_scenario(std::string_view name) {
  const std::vector<Property>& all = model_table().shape().properties;
  return std::ranges::find(all, name, &Property::key) != all.end();
}

/// A list or an object is no value of a model's field.
bool gives_field(const Json& member) {
  const bool single = !member.is(Json::Kind::kList) && !member.is(Json::Kind::kObject);
  return single && is_field_of_scenario(member.key());
}

std::string meant_by(std::string_view name, MemberNames names) {
  for (const Misnamed& other : kMisnamed) {
    if (lower_case(name) == other.name) return fmt::format(" (did you mean \"{}\"?)", other.member);
  }
  const std::string like = slip_of(name, {names.begin(), names.end()});
  return like.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", like);
}

/// What a part has beside `read` and `told`; a null says nothing.
void add_unread(const Json* part, const std::string& prefix, MemberNames read, MemberNames told,
                std::vector<std::string>& out) {
  if (part == nullptr || !part->is(Json::Kind::kObject)) return;
  for (const Json* member : part->children()) {
    const std::string& name = member->key();
    if (member->is(Json::Kind::kNull) || is_among(read, name) || is_among(told, name)) continue;
    if (name.ends_with("_derived")) continue;  // from others, by who wrote the record
    if (prefix == "model." && gives_field(*member)) continue;
    out.push_back(prefix + name + meant_by(name, read));
  }
}

}  // namespace

std::vector<ModelField> fields_of_scenario(const Json& model) {
  std::vector<ModelField> out;
  for (const Json* member : model.children()) {
    const std::string& name = member->key();
    if (member->is(Json::Kind::kNull) || is_among(kOfModel, name)) continue;
    if (gives_field(*member)) out.push_back({name, json_text(*member)});
  }
  return out;
}

std::vector<std::string> unread_members(const Json& record) {
  std::vector<std::string> out;
  add_unread(&record, "", kOfRecord, kToldOfRecord, out);
  add_unread(record.find("model"), "model.", kOfModel, kToldOfModel, out);
  add_unread(record.find("cluster"), "cluster.", kOfCluster, {}, out);
  add_unread(record.find("parallel"), "parallel.", kOfParallel, {}, out);
  add_unread(record.find("batch"), "batch.", kOfBatch, kToldOfBatch, out);
  add_unread(record.find("measured"), "measured.", kOfMeasured, kToldOfMeasured, out);
  return out;
}

}  // namespace plait
