#include "scenarios/names_elsewhere.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/spelling.h"
#include "scenarios/block_recompute.h"
#include "topologies/catalogue.h"
#include "topologies/importers/choose_device.h"

namespace plait {
namespace {

struct NameElsewhere {
  std::string_view name, path;
};

constexpr NameElsewhere kNames[] = {
    {"activation_checkpoint", "strategy.recompute"},
    {"activation_checkpointing", "strategy.recompute"},
    {"amp", "workload.precision.autocast"},
    {"batch_size", "workload.global_batch"},
    {"bucket_cap_mb", "strategy.data.bucket"},
    {"checkpointing", "strategy.recompute"},
    {"context_parallel", "strategy.cp"},
    {"context_parallel_degree", "strategy.cp"},
    {"context_parallel_size", "strategy.cp"},
    {"cp_comm_type", "strategy.context.kind"},
    {"cp_size", "strategy.cp"},
    {"cpu_offload", "strategy.offload"},
    {"d_model", "model.hidden"},
    {"data_parallel", "strategy.dp"},
    {"data_parallel_replicate_degree", "strategy.dp"},
    {"data_parallel_shard_degree", "strategy.fsdp"},
    {"data_parallel_size", "strategy.dp"},
    {"dp_size", "strategy.dp"},
    {"dtype", "workload.precision"},
    {"ep_size", "strategy.ep"},
    {"etp", "strategy.expert_tp"},
    {"expert_capacity_factor", "workload.capacity_factor"},
    {"expert_model_parallel_size", "strategy.ep"},
    {"expert_parallel", "strategy.ep"},
    {"expert_parallel_degree", "strategy.ep"},
    {"expert_parallel_size", "strategy.ep"},
    {"expert_tensor_parallel_degree", "strategy.expert_tp"},
    {"expert_tensor_parallel_size", "strategy.expert_tp"},
    {"ffn_dim", "model.ffn_hidden"},
    {"ffn_hidden_size", "model.ffn_hidden"},
    {"first_k_dense_replace", "model.first_dense_layers"},
    {"flash_attn", "workload.flash_attention"},
    {"fp16_lm_cross_entropy", "workload.precision.narrow_logits"},
    {"fp8", "workload.precision.matmul"},
    {"fp8_format", "workload.precision.matmul"},
    {"fp8_products", "serving.products"},
    {"fsdp_size", "strategy.fsdp"},
    {"gbs", "workload.global_batch"},
    {"global_batch_size", "workload.global_batch"},
    {"gpu", "cluster.device"},
    {"gpu_type", "cluster.device"},
    {"gpus_per_node", "cluster.devices_per_node"},
    {"gradient_checkpointing", "strategy.recompute"},
    {"hidden_size", "model.hidden"},
    {"input_len", "serving.requests.kinds"},
    {"inter_node", "cluster.fabric"},
    {"intermediate_size", "model.ffn_hidden"},
    {"intra_node", "cluster.device"},
    {"kv_cache_dtype", "serving.kv_cache"},
    {"kv_channels", "model.head_dim"},
    {"local_batch_size", "workload.micro_batch"},
    {"lora_alpha", "workload.lora.alpha"},
    {"lora_r", "workload.lora.rank"},
    {"lora_rank", "workload.lora.rank"},
    {"max_concurrency", "serving.requests.concurrency"},
    {"max_position_embeddings", "model.max_positions"},
    {"max_seq_len", "workload.sequence_length"},
    {"max_seq_length", "workload.sequence_length"},
    {"mbs", "workload.micro_batch"},
    {"micro_batch_size", "workload.micro_batch"},
    {"mixed_precision", "workload.precision"},
    {"moe_expert_capacity_factor", "workload.capacity_factor"},
    {"moe_ffn_hidden_size", "model.expert_ffn_hidden"},
    {"moe_intermediate_size", "model.expert_ffn_hidden"},
    {"moe_layer_freq", "model.moe_every"},
    {"moe_router_topk", "model.experts_per_token"},
    {"moe_shared_expert_intermediate_size", "model.shared_ffn_hidden"},
    {"moe_token_dispatcher_type", "strategy.expert_dispatch"},
    {"n_embd", "model.hidden"},
    {"n_head", "model.heads"},
    {"n_heads", "model.heads"},
    {"n_kv_heads", "model.kv_heads"},
    {"n_layer", "model.layers"},
    {"n_layers", "model.layers"},
    {"n_routed_experts", "model.experts"},
    {"n_shared_experts", "model.shared_ffn_hidden"},
    {"nnodes", "cluster.nodes"},
    {"nproc_per_node", "cluster.devices_per_node"},
    {"ntasks_per_node", "cluster.devices_per_node"},
    {"num_attention_heads", "model.heads"},
    {"num_experts", "model.experts"},
    {"num_experts_per_tok", "model.experts_per_token"},
    {"num_heads", "model.heads"},
    {"num_hidden_layers", "model.layers"},
    {"num_key_value_heads", "model.kv_heads"},
    {"num_kv_heads", "model.kv_heads"},
    {"num_layers", "model.layers"},
    {"num_local_experts", "model.experts"},
    {"num_nextn_predict_layers", "model.mtp_layers"},
    {"num_nodes", "cluster.nodes"},
    {"num_prompts", "serving.requests.count"},
    {"num_query_groups", "model.kv_heads"},
    {"num_shared_experts", "model.shared_ffn_hidden"},
    {"num_virtual_stages_per_pipeline_rank", "strategy.pipeline.chunks"},
    {"nvlink", "cluster.device.nvlink_bandwidth"},
    {"output_len", "serving.requests.kinds"},
    {"overlap_grad_reduce", "strategy.data.overlap"},
    {"overlap_param_gather", "strategy.data.overlap_gathers"},
    {"oversubscription", "cluster.fabric.oversubscription"},
    {"per_device_batch_size", "workload.micro_batch"},
    {"per_device_train_batch_size", "workload.micro_batch"},
    {"pipeline_model_parallel_size", "strategy.pp"},
    {"pipeline_parallel", "strategy.pp"},
    {"pipeline_parallel_degree", "strategy.pp"},
    {"pipeline_parallel_schedule", "strategy.pipeline.schedule"},
    {"pipeline_parallel_size", "strategy.pp"},
    {"pp_size", "strategy.pp"},
    {"price", "cluster.price_per_device_hour"},
    {"price_per_gpu_hour", "cluster.price_per_device_hour"},
    {"price_per_hour", "cluster.price_per_device_hour"},
    {"qps", "serving.requests.rate_per_s"},
    {"quantization", "serving.products"},
    {"random_input_len", "serving.requests.kinds"},
    {"random_output_len", "serving.requests.kinds"},
    {"recompute_granularity", "strategy.recompute"},
    {"recompute_modules", "strategy.recompute.modules"},
    {"recompute_num_layers", "strategy.recompute.layers"},
    {"request_rate", "serving.requests.rate_per_s"},
    {"seq_len", "workload.sequence_length"},
    {"seq_length", "workload.sequence_length"},
    {"seqlen", "workload.sequence_length"},
    {"sequence_len", "workload.sequence_length"},
    {"sliding_window", "model.attention_window"},
    {"sp", "strategy.sequence_parallel"},
    {"tensor_model_parallel_size", "strategy.tp"},
    {"tensor_parallel", "strategy.tp"},
    {"tensor_parallel_degree", "strategy.tp"},
    {"tensor_parallel_size", "strategy.tp"},
    {"tie_word_embeddings", "model.tied_embeddings"},
    {"top_k", "model.experts_per_token"},
    {"torch_autocast", "workload.precision.autocast"},
    {"torch_dtype", "workload.precision"},
    {"tp_comm_overlap", "strategy.tensor.overlap"},
    {"tp_size", "strategy.tp"},
    {"trace_file", "serving.requests.trace"},
    {"train_batch_size", "workload.global_batch"},
    {"train_micro_batch_size_per_gpu", "workload.micro_batch"},
    {"ulysses_degree", "strategy.context.ulysses"},
    {"use_distributed_optimizer", "strategy.zero_stage"},
    {"use_flash_attn", "workload.flash_attention"},
    {"virtual_pipeline_model_parallel_size", "strategy.pipeline.chunks"},
    {"virtual_stages", "strategy.pipeline.chunks"},
    {"vocab_size", "model.vocab"},
    {"vpp", "strategy.pipeline.chunks"},
    {"zero", "strategy.zero_stage"},
    {"zero_optimization", "strategy.zero_stage"},
};

/// Names of what follows from others.
struct Quotient {
  std::string_view name, rule;
};
constexpr std::string_view kMicrobatches =
    "leave it out: it is workload.global_batch / (workload.micro_batch * replicas)";
constexpr std::string_view kDevices =
    "leave it out: it is cluster.nodes * cluster.devices_per_node";
constexpr Quotient kQuotients[] = {
    {"gradient_accumulation_steps", kMicrobatches},
    {"gradient_accumulation", kMicrobatches},
    {"grad_accum", kMicrobatches},
    {"num_microbatches", kMicrobatches},
    {"microbatches", kMicrobatches},
    {"gpus", kDevices},
    {"num_gpus", kDevices},
    {"world_size", kDevices},
    {"devices", kDevices},
};

/// torch.autocast: Lightning's words for it, and others'.
constexpr std::string_view kMixedBf16 =
    R"(workload.precision={"weights": "fp32", "autocast": "bf16"})";
constexpr std::string_view kMixedFp16 =
    R"(workload.precision={"weights": "fp32", "autocast": "fp16"})";

/// Values that others write where a scenario has another field.
struct ValueElsewhere {
  std::string_view path, value, set;
};
constexpr ValueElsewhere kValues[] = {
    {"strategy.recompute", "true", "strategy.recompute=full"},
    {"strategy.offload", "true", "strategy.offload=cpu"},
    {"workload.documents", "packed", "workload.documents.packing=packed"},
    {"strategy.context", "a2a", "strategy.context=ulysses"},
    {"strategy.context", "p2p", "strategy.context=ring"},
    {"strategy.expert_dispatch", "deepep", "kernels.exchange=deepep"},
    {"strategy.expert_dispatch", "alltoall", "strategy.expert_dispatch=all_to_all"},
    {"strategy.expert_dispatch", "allgather", "strategy.expert_dispatch=all_gather"},
    {"serving.weights", "awq", "serving.weights=int4"},
    {"serving.weights", "gptq", "serving.weights=int4"},
    {"serving.weights", "w4a16", "serving.weights=int4"},
    {"serving.weights", "w8a16", "serving.weights=int8"},
    {"serving.weights", "fp8", "serving.products=fp8"},
    {"serving.weights", "bf16", "serving.dtype=bf16"},
    {"serving.weights", "fp16", "serving.dtype=fp16"},
    {"serving.products", "awq", "serving.weights=int4"},
    {"serving.products", "gptq", "serving.weights=int4"},
    {"workload.precision", "fp8", "workload.precision.matmul=fp8"},
    {"workload.precision", "nvfp4", "workload.precision.matmul=nvfp4"},
    {"workload.precision", "bf16-mixed", kMixedBf16},
    {"workload.precision", "16-mixed", kMixedFp16},
    {"workload.precision", "fp16-mixed", kMixedFp16},
    {"workload.precision", "amp", kMixedBf16},
    {"workload.precision", "amp_bf16", kMixedBf16},
    {"workload.precision", "amp_fp16", kMixedFp16},
    {"workload.precision", "autocast", kMixedBf16},
    {"workload.precision", "bfloat16", "workload.precision=bf16"},
    {"workload.precision", "float16", "workload.precision=fp16"},
    {"workload.precision", "float32", "workload.precision=fp32"},
};

std::string field_meant(std::string_view word) {
  const auto quotient = std::ranges::find(kQuotients, word, &Quotient::name);
  if (quotient != std::end(kQuotients)) return std::string(quotient->rule);
  const auto found = std::ranges::find(kNames, word, &NameElsewhere::name);
  if (found == std::end(kNames)) return "";
  return fmt::format("did you mean \"{}\"?", found->path);
}

/// A device where a node is asked for: the node that usually has it.
std::string device_meant(const std::string& path, const std::string& value) {
  if (path != "cluster" && path != "cluster.preset") return "";
  const std::vector<std::string> devices = device_names();
  if (std::ranges::find(devices, value) == devices.end()) return "";
  const std::string node = usual_node(find_device(value), 0);
  return fmt::format(
      "{0} is a device: set cluster.preset={1} and cluster.device={0}, in a file "
      R"({{"preset": "{1}", "device": "{0}"}})",
      value, node);
}

struct Instance {
  std::string_view name, preset;
};
/// Of clouds that no preset is named after, with that node: 8 such devices with a NIC of 400 Gb/s
/// each. Azure's ND series, Oracle's bare metal shapes, Google Cloud's A4.
constexpr Instance kInstances[] = {{"standard_nd96isr_h100_v5", "hgx-h100"},
                                   {"nd96isr_h100_v5", "hgx-h100"},
                                   {"standard_nd96isr_h200_v5", "hgx-h200"},
                                   {"nd96isr_h200_v5", "hgx-h200"},
                                   {"bm.gpu.h100.8", "hgx-h100"},
                                   {"bm.gpu.h200.8", "hgx-h200"},
                                   {"a4-highgpu-8g", "hgx-b200"}};

/// A cloud's instance where a node is asked for: p5.48xlarge is aws-p5, a3-highgpu-8g gcp-a3-high.
std::string instance_meant(const std::string& path, const std::string& value) {
  if (path != "cluster" && path != "cluster.preset") return "";
  const std::string name = lower_case(value);
  const auto* found = std::ranges::find(kInstances, name, &Instance::name);
  std::string preset = found == std::end(kInstances) ? "" : std::string(found->preset);
  const std::string kind = name.substr(0, std::min(name.find('.'), name.find("gpu-")));
  for (const std::string& node : cluster_names()) {
    if (kind != name && (node == "aws-" + kind || node == "gcp-" + kind)) preset = node;
  }
  return preset.empty() ? "" : fmt::format("did you mean \"{}\"?", preset);
}

std::string value_meant(const std::string& path, const Json& root) {
  const Json* json = root.find_path(path);
  if (json == nullptr) return "";
  const bool is_true = json->is(Json::Kind::kBool) && json->boolean();
  if (!is_true && !json->is(Json::Kind::kText)) return "";
  const std::string value = is_true ? "true" : json->text();
  if (std::string device = device_meant(path, value); !device.empty()) return device;
  if (std::string node = instance_meant(path, value); !node.empty()) return node;
  if (const auto layers = layers_of_block(value); layers && path.starts_with("strategy.recompute"))
    return fmt::format(R"(did you mean strategy.recompute={{"kind":"full","layers":{}}}?)",
                       *layers);
  for (const ValueElsewhere& v : kValues) {
    if (v.path == path && v.value == value) return fmt::format("did you mean {}?", v.set);
  }
  return "";
}

/// Of engines' options that a model is served with: adapters, and formats of weights.
std::string name_in_serving(const std::string& path) {
  if (path.starts_with("serving.") && path.find("lora") != std::string::npos) {
    return "remove it: adapters are not described in serving. Served merged into its weights, a "
           "model takes the same time and memory as without";
  }
  return path == "serving.quantization"
             ? "did you mean serving.products (fp8, nvfp4), or serving.weights=int4 (awq, gptq)?"
             : "";
}

/// A field of just this name in another section, and not of the one that the word stands in, is
/// likelier to be meant: "dtype" of serving.
bool is_known_elsewhere(std::string_view word, const std::string& path, const InputError& error) {
  const std::string section = path.substr(0, path.find('.') + 1);
  const bool same = !section.empty() && field_meant(word).find(section) != std::string::npos;
  return !same && error.text().cure.find(fmt::format(".{}\"", word)) != std::string::npos;
}

/// In an entry of a list another key of it is meant, where one is spelt alike: "devices" of a
/// slowdown.
bool is_known_in_list(const std::string& path, const InputError& error) {
  const std::string object = path.substr(0, path.rfind('.'));
  const std::string entry = object.substr(object.rfind('.') + 1);
  const bool in_list = entry.find_first_not_of("0123456789") == std::string::npos;
  return in_list && error.text().cure.starts_with("did you mean");
}

}  // namespace

InputError with_field_meant(const InputError& error, const Json& root) {
  InputError::Text text = error.text();
  std::string meant;
  if (text.code == "F001" || text.code == "F005") {
    meant = name_in_serving(text.where.path);
    const std::string word = text.where.path.substr(text.where.path.rfind('.') + 1);
    const bool known = is_known_elsewhere(word, text.where.path, error) ||
                       is_known_in_list(text.where.path, error);
    if (meant.empty() && !known) meant = field_meant(word);
  } else if (text.code == "F003" || text.code == "F004") {
    meant = value_meant(text.where.path, root);
  }
  if (meant.empty()) return error;
  text.cure = meant;
  return InputError(text);
}

}  // namespace plait
