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
constexpr std::string_view kToldOfProfile[] = {"source"};
struct Told {
  std::string_view part;  // "": the record itself
  MemberNames names;
};
constexpr Told kTold[] = {
    {"", kToldOfRecord},
    {"model", kToldOfModel},
    {"measured", kToldOfMeasured},
    {"batch", kToldOfBatch},
    {"stage_profile_ms", kToldOfProfile},
};
bool is_told(const RecordPart& part, std::string_view name) {
  const auto* told = std::ranges::find(kTold, part.json().key(), &Told::part);
  return told != std::end(kTold) && std::ranges::find(told->names, name) != told->names.end();
}

/// What other configurations call a member.
struct Misnamed {
  std::string_view name, member;
};
constexpr Misnamed kMisnamed[] = {
    {"zero", "zero_stage"},
    {"zero1", "zero_group"},
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
    {"tensor_model_parallel_size", "tp"},
    {"pipeline_model_parallel_size", "pp"},
    {"context_parallel_size", "cp"},
    {"expert_model_parallel_size", "ep"},
    {"vp", "vpp"},
    {"virtual_pipeline", "vpp"},
    {"virtual_stages", "vpp"},
    {"global_batch_size", "global_batch"},
    {"micro_batch_size", "micro_batch"},
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
    {"iteration_time_ms", "iteration_time_s"},
    {"time_per_step_s", "iteration_time_s"},
    {"elapsed_time_per_iteration_ms", "iteration_time_s"},
    {"tokens_per_gpu_per_s", "tokens_per_s_per_gpu"},
    {"tokens_per_sec_per_gpu", "tokens_per_s_per_gpu"},
    {"tgs", "tokens_per_s_per_gpu"},
    {"tokens_per_second", "tokens_per_s"},
    {"tokens_per_second_per_gpu", "tokens_per_s_per_gpu"},
    {"memory_gb", "peak_memory_gb"},
};

bool is_field(std::string_view name, const Shape& shape) {
  const std::vector<Property>& all = shape.properties;
  return std::ranges::find(all, name, &Property::key) != all.end();
}

/// A list or an object is no value of a model's field; documents of a workload are one.
bool gives_field(const RecordPart& part, const Json& member) {
  const std::string& of = part.json().key();
  if (of == "batch") return is_field(member.key(), workload_table().shape());
  const bool single = !member.is(Json::Kind::kList) && !member.is(Json::Kind::kObject);
  return of == "model" && single && is_field(member.key(), model_table().shape());
}

std::string meant_by(std::string_view name, const RecordPart& part) {
  for (const Misnamed& other : kMisnamed) {
    if (lower_case(name) == other.name) return fmt::format(" (did you mean \"{}\"?)", other.member);
  }
  const std::string like = slip_of(name, {part.asked().begin(), part.asked().end()});
  return like.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", like);
}

/// Members that were not asked for; a null says nothing.
std::vector<const Json*> left_in(const RecordPart& part) {
  std::vector<const Json*> out;
  for (const Json* member : part.json().children()) {
    if (!member->is(Json::Kind::kNull) && !part.asked().contains(member->key()))
      out.push_back(member);
  }
  return out;
}

void add_unread(const RecordPart& part, std::vector<std::string>& out) {
  const std::string& of = part.json().key();
  for (const std::string& member : part.unusable()) {
    out.push_back(fmt::format("{}{}{}", of, of.empty() ? "" : ".", member));
  }
  for (const Json* member : left_in(part)) {
    const std::string& name = member->key();
    if (is_told(part, name) || gives_field(part, *member)) continue;
    if (name.ends_with("_derived")) continue;  // from others, by who wrote the record
    out.push_back(fmt::format("{}{}{}{}", of, of.empty() ? "" : ".", name, meant_by(name, part)));
  }
  for (const RecordPart& inner : part.parts()) add_unread(inner, out);
}

}  // namespace

std::vector<RecordField> fields_of_scenario(const RecordPart& part) {
  std::vector<RecordField> out;
  for (const Json* member : left_in(part)) {
    if (gives_field(part, *member)) out.push_back({member->key(), json_text(*member)});
  }
  return out;
}

std::vector<std::string> unread_members(const RecordPart& record) {
  std::vector<std::string> out;
  add_unread(record, out);
  return out;
}

}  // namespace plait
