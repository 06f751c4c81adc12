#include "scenarios/idle_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "scenarios/idle_rules.h"

namespace plait {
namespace {

constexpr std::string_view kOneReplica = "there is one replica";
constexpr std::string_view kNotSharded = "no parameters are sharded";
constexpr std::string_view kAnalytic = "network is \"analytic\"";

IdleRules of_model(const IdleFacts& f) {
  const Model& m = f.s.model;
  const bool no_states = !has_states(m);
  const bool sees_all = m.attention_window == 0;
  const std::string_view window = "model.attention_window is 0";
  const bool attends = has_part(m, "*a");
  // Letters with an MLP or experts behind a mixer: the other letters say which of them it is.
  const bool told = f.experts && !has_part(m, "mga");
  const std::string_view letters = "model.layer_pattern says which layers have experts";
  return {
      {"model.experts_per_token", !f.experts && m.experts_per_token > 0, kNoExperts},
      {"model.expert_ffn_hidden", !f.experts && m.expert_ffn_hidden > 0, kNoExperts},
      {"model.shared_ffn_hidden", !f.experts && m.shared_ffn_hidden > 0, kNoExperts},
      {"model.shared_expert_gate", !f.experts && m.shared_expert_gate, kNoExperts},
      {"model.first_dense_layers", !f.experts && m.first_dense_layers > 0, kNoExperts},
      {"model.moe_every", !f.experts && m.moe_every > 1, kNoExperts},
      {"model.first_dense_layers", told && m.first_dense_layers > 0, letters},
      {"model.moe_every", told && m.moe_every > 1, letters},
      {"model.shared_expert_gate", f.experts && m.shared_expert_gate && m.shared_ffn_hidden == 0,
       "model.shared_ffn_hidden is 0"},
      {"model.attention_window", m.attention_window > 0 && !attends, kNoAttention},
      {"model.attention_window",
       attends && m.attention_window >= f.s.workload.sequence_length &&
           f.s.workload.sequence_length > 0,
       "no sequence is longer"},
      {"model.full_attention_first", sees_all && m.full_attention_first > 0, window},
      {"model.full_attention_every", sees_all && m.full_attention_every > 0, window},
      {"model.state_size", no_states && m.state_size > 0, kNoStates},
      {"model.state_heads", no_states && m.state_heads > 0, kNoStates},
      {"model.conv_width", no_states && m.conv_width != Model{}.conv_width, kNoStates},
      {"model.scan_chunk", no_states && m.scan_chunk != Model{}.scan_chunk, kNoStates},
  };
}

/// `written`: as the scenario says, not as it is resolved.
IdleRules of_workload(const IdleFacts& f, const Workload& written) {
  const Workload& w = f.s.workload;
  const Precision& p = w.precision;
  const LowRankAdapters& lora = w.lora;
  const bool documents = w.documents.packing != Packing::kNone;
  const bool wide = !p.narrows();
  const std::string_view not_narrow = "no product is narrowed";
  const bool skews = w.expert_skew != 1;
  return {
      {"workload.documents", documents != w.documents.have_length(),
       documents ? "documents have no length" : "packing is \"none\""},
      {"workload.precision.plain_first", wide && p.plain_first > 0, not_narrow},
      {"workload.precision.plain_last", wide && p.plain_last > 0, not_narrow},
      {"workload.precision.narrow_weights", wide && p.narrow_weights != NarrowWeights::kNone,
       not_narrow},
      {"workload.precision.scales", wide && p.scales != Scales::kTensor, not_narrow},
      {"workload.precision.narrow_logits", p.narrow_logits && p.activations() == DType::kFp32,
       "products write fp32"},
      {"workload.precision.reduction", f.no_shards && p.reduction != p.gradients, kOneReplica},
      {"workload.lora.double_quantized", lora.any() && !lora.quantizes() && !lora.double_quantized,
       "frozen matrices are not quantised"},
      {"workload.lora", !lora.any() && lora != LowRankAdapters{}, "its rank is 0"},
      {"workload.capacity_factor", written.capacity_factor > 0 && !f.experts, kNoExperts},
      {"workload.expert_skew", skews && !f.experts, kNoExperts},
      {"workload.expert_skew", skews && f.experts && w.capacity_factor > 0,
       "workload.capacity_factor says how many tokens an expert takes"},
      {"workload.expert_skew", skews && f.experts && w.capacity_factor == 0 && f.expert_ranks == 1,
       "each rank has all experts"},
  };
}

IdleRules of_experts(const IdleFacts& f) {
  const StrategyPart& p = f.part;
  const bool gathers = p.expert_dispatch == ExpertDispatch::kAllGather;
  const bool more_axes = p.expert_axes != Axis::kEp;
  return {
      {"strategy.expert_axes", !f.experts && more_axes, kNoExperts},
      {"strategy.expert_axes",
       f.experts && more_axes &&
           f.s.strategy.mesh.size_of(
               p.expert_axes | (p.expert_axes.has(Axis::kTp) ? kTensorAxes : AxisSet(Axis::kEp))) ==
               p.ep,
       "its other axes are 1"},
      {"strategy.expert_gates", !f.experts && p.expert_gates != ExpertGates::kResults, kNoExperts},
      {"strategy.expert_dispatch", gathers && f.expert_ranks == 1,
       f.experts ? "each rank has all experts" : kNoExperts},
      {"strategy.expert_tp", p.expert_tp > 1 && !p.expert_axes.has(Axis::kTp),
       "expert_axes has no tp"},
  };
}

IdleRules of_pipeline(const IdleFacts& f) {
  const PipelineOptions& p = f.part.pipeline;
  // Without stages gpipe still has all forward passes first.
  const bool idle = f.part.pp == 1 && p.schedule != Schedule::kGpipe &&
                    p.exchange_overlap != ExchangeOverlap::kPasses;
  const bool profiled = p.schedule == Schedule::kZb1p || p.schedule == Schedule::kZb2p;
  const bool whole_passes = p.schedule == Schedule::kGpipe || p.schedule == Schedule::k1f1b ||
                            p.schedule == Schedule::kSequential;
  return {
      {"strategy.pipeline", idle, "pp is 1"},
      {"strategy.pipeline.microbatch_group",
       !idle && p.microbatch_group > 0 && p.schedule != Schedule::kInterleaved,
       "the schedule is not \"interleaved\""},
      {"strategy.pipeline.profile", !idle && !profiled,
       "zb-1p and zb-2p alone are laid out for it"},
      {"strategy.pipeline.blocking_sends",
       !idle && p.blocking_sends == BlockingSends::kPlain && !whole_passes,
       "\"plain\" is of schedules of whole passes"},
      {"strategy.pipeline.scatter_gather", !idle && p.scatter_gather && f.part.tp == 1, "tp is 1"},
  };
}

IdleRules of_recomputation(const IdleFacts& f) {
  const RecomputeOptions& r = f.part.recompute;
  const bool attends = has_part(f.s.model, "*a");
  const std::int64_t layers = f.s.model.layers;
  return {
      {"strategy.recompute.layers", r.layers > layers,
       "it is more than the model has, and all are recomputed without it"},
      {"strategy.recompute", r.every > layers, "every is more than the model has layers"},
      {"strategy.recompute", r.kind == Recompute::kSelective && !attends, kNoAttention},
      {"strategy.recompute.head", r.head && r.kind != Recompute::kFull, "kind is not \"full\""},
      {"strategy.recompute.unread", r.unread && r.kind != Recompute::kOps, "kind is not \"ops\""},
  };
}

IdleRules of_reductions(const IdleFacts& f) {
  const StrategyPart& p = f.part;
  const DataParallelOptions& d = p.data;
  const bool some = !f.no_shards;
  const bool served = p.parameter_server.any();
  const bool updates = gathers_updates(p.zero_stage) || served;
  return {
      {"strategy.data", f.no_shards, kOneReplica},
      {"strategy.data.bucket",
       some && d.bucket != DataParallelOptions{}.bucket && (p.zero_stage >= 2 || served),
       served ? "gradients go to servers layer by layer"
              : "shards of gradients are reduced layer by layer"},
      {"strategy.data.overlap", some && p.zero_stage == 3 && !d.overlap,
       "sharded parameters are reduced layer by layer, as they are gathered"},
      {"strategy.data.overlap",
       some && p.zero_stage == 0 && p.pipeline.schedule == Schedule::kDualPipe && !d.overlap,
       "dualpipe reduces gradients behind its last pass"},
      {"strategy.data.all_reduce", some && d.all_reduce && p.zero_stage == 0, "zero_stage is 0"},
      {"strategy.data.overlap_gathers", some && !d.overlap_gathers && (!updates || !d.overlap),
       updates ? "strategy.data.overlap is false" : "no updated weights are gathered"},
  };
}

IdleRules of_shards(const IdleFacts& f) {
  const StrategyPart& p = f.part;
  const FsdpOptions& o = p.fsdp_options;
  const FsdpOptions otherwise;
  const bool none = p.zero_stage < 3 || f.no_shards;
  const bool idle = p.zero_stage < 2 || f.no_shards;
  const bool whole = p.zero_stage == 2 && !f.no_shards;  // weights, beside shards of gradients
  const bool in_pipelines = o.no_sync == NoSync::kPipelines || o.no_sync == NoSync::kPipelines2024;
  const bool late = o.replica_sums == ReplicaSums::kLastMicrobatch;
  return {
      {"strategy.fsdp_options", idle, kNotSharded},
      {"strategy.fsdp_options.reshard_after_forward", whole && !o.reshard_after_forward,
       kNotSharded},
      {"strategy.fsdp_options.prefetch", whole && o.prefetch != otherwise.prefetch, kNotSharded},
      {"strategy.fsdp_options.root", whole && o.root, kNotSharded},
      {"strategy.fsdp_options.copies", whole && o.copies != otherwise.copies, kNotSharded},
      {"strategy.fsdp_options.early_scales",
       o.early_scales && !f.s.workload.precision.gathers_narrow(),
       "weights are not gathered narrow"},
      {"strategy.fsdp_options.no_sync", !idle && in_pipelines && p.pp == 1, "pp is 1"},
      {"strategy.fsdp_options.replica_sums", !idle && late && (p.dp == 1 || p.fsdp == 1),
       "it is for dp beside fsdp"},
      {"strategy.fsdp_options.reshard_last_layer",
       !idle && !o.reshard_last_layer && (whole || !o.reshard_after_forward),
       whole ? kNotSharded : "reshard_after_forward is false"},
      {"strategy.keep_weight_shard", p.keep_weight_shard && none, kNotSharded},
      {"strategy.zero_plus_plus", none, kNotSharded},
      {"strategy.zero_stage", p.zero_stage > 0 && f.no_shards, "dp, fsdp, cp and ep are 1"},
  };
}

IdleRules of_axes(const IdleFacts& f) {
  const StrategyPart& p = f.part;
  return {
      {"strategy.sequence_parallel", p.sequence_parallel && p.tp == 1, "tp is 1"},
      {"strategy.context", p.cp == 1, "cp is 1"},
      {"strategy.tensor", p.tp == 1, "tp is 1"},
      {"strategy.tensor.overlap",
       p.tp > 1 && p.tensor.overlap == TensorOverlap::kNone && !p.sequence_parallel &&
           f.s.workload.lora.any(),
       "beside adapters no weight's gradient is there for sums to hide behind"},
      {"strategy.tensor.copied_inputs", p.tp > 1 && p.tensor.copied_inputs && p.sequence_parallel,
       "sequence_parallel is true"},
      {"strategy.offload.bind_cores",
       !p.offload.bind_cores && p.offload.optimizer == Offload::kNone,
       "no optimizer runs on the processors"},
      {"memory.split_loss_bytes_per_logit", p.tp == 1 && f.s.memory.split_loss_bytes_per_logit >= 0,
       "tp is 1"},
  };
}

IdleRules of_host(const IdleFacts& f, const Host& h) {
  const bool at_once = h.launch_time.value == 0;
  const std::string_view no_time = "host.launch_time is 0";
  const bool told = f.s.workload.capacity_factor > 0;
  const bool waits = f.experts && !told;
  const bool none = at_once && f.s.host.collective_time.value == 0;  // it is never behind
  const bool attends = has_part(f.s.model, "*a");
  const bool alone = f.s.cluster.world_size() == 1 && !f.part.offload.any();
  return {
      {"host.linear_calls", h.linear_calls > 0 && at_once, no_time},
      {"host.graphs", h.graphs && at_once, no_time},
      {"host.routing_graph", h.routing_graph && (at_once || !f.experts),
       f.experts ? no_time : kNoExperts},
      {"host.waits_for_messages", h.waits_for_messages && f.part.pp == 1, "pp is 1"},
      {"host.waits_for_routing", h.waits_for_routing && !waits,
       f.experts ? "workload.capacity_factor says how many tokens an expert takes" : kNoExperts},
      {"host.waits_for_routing", h.waits_for_routing && waits && none, no_time},
      {"host.waits_for_lengths", h.waits_for_lengths && (none || !attends),
       attends ? no_time : kNoAttention},
      {"host.waits_for_passes", h.waits_for_passes && none && alone, no_time},
  };
}

IdleRules of_cluster(const IdleFacts& f, const ClusterPart& c) {
  const Fabric& fabric = c.fabric.value;
  const bool draws = c.jitter > 0 || fabric.spreading == Spreading::kHash;
  const bool measured = !f.s.calibration.empty();
  const bool varies = c.variation != ClusterPart{}.variation;
  return {
      {"cluster.seed", c.seed != ClusterPart{}.seed && !draws, "cluster.jitter is 0"},
      {"cluster.variation", varies && f.s.cluster.world_size() == 1, "there is one device"},
      {"cluster.variation", varies && measured, "the calibration says how fast devices are"},
      {"cluster.fabric.spreading", fabric.spreading == Spreading::kHash && !f.s.flow_network,
       kAnalytic},
      {"cluster.fabric.rail_forwarding", !fabric.rail_forwarding && !f.s.flow_network, kAnalytic},
  };
}

IdleRules of_serving(const Scenario& s) {
  return {
      {"serving.state_cache", !has_states(s.model), kNoStates},
      {"serving.expert_weights", s.model.experts == 0, kNoExperts},
      {"kernels.exchange", s.kernels.exchange == Dispatcher::kDeepEp,
       "served tokens reach experts by all_gather and reduce_scatter"},
  };
}

IdleRules of_training(const ScenarioParts& parts, const Scenario& s) {
  const IdleFacts f{parts.strategy, s};
  IdleRules out;
  for (const IdleRules& rules :
       {of_model(f), of_workload(f, parts.workload), of_experts(f), of_axes(f), of_pipeline(f),
        of_recomputation(f), of_reductions(f), of_shards(f), idle_kernels(f, parts.kernels),
        of_host(f, parts.host), of_cluster(f, parts.cluster)}) {
    out.insert(out.end(), rules.begin(), rules.end());
  }
  return out;
}

}  // namespace

Warning no_effect(const std::string& path, std::string_view why) {
  return {"W001", fmt::format("{} has no effect{}", path, why), path};
}

bool says_itself(const Json& root, const std::vector<std::string>& filled_in,
                 const std::string& path) {
  const Json* field = root.find_path(path);
  if (field == nullptr) return false;
  if (!field->is(Json::Kind::kObject)) return std::ranges::find(filled_in, path) == filled_in.end();
  return std::ranges::any_of(field->children(), [&](const Json* member) {
    return says_itself(root, filled_in, path + "." + std::string(member->key()));
  });
}

namespace {

/// A skew of more than the busiest rank can have, which is a field with some effect.
Warnings excessive_skew(const Json& root, const std::vector<std::string>& filled_in,
                        const Scenario& s) {
  const Model& m = s.model;
  const Workload& w = s.workload;
  const std::int64_t ranks = s.strategy.mesh.size_of(s.strategy.axes_of_experts());
  if (s.serving || m.experts == 0 || w.capacity_factor > 0 || ranks == 1) return {};
  const double all = static_cast<double>(m.experts) /
                     static_cast<double>(std::max<std::int64_t>(1, m.experts_per_token));
  const double most = std::min(static_cast<double>(ranks), all);
  if (w.expert_skew <= most || !says_itself(root, filled_in, "workload.expert_skew")) return {};
  return {{"W001", fmt::format("workload.expert_skew counts as {:g}: with that the busiest of {} "
                               "ranks has all tokens that {} experts of {} can have",
                               most, ranks, m.experts_per_token, m.experts)}};
}

/// Experts that no layer has: a dense model, whoever said how large they are.
Warnings unmet_experts(const Model& m) {
  const bool refused =  // S150
      !m.layer_pattern.empty() && std::ssize(m.layer_pattern) != m.layers;
  if (m.experts == 0 || refused || m.moe_layers() > 0) return {};
  const bool dense = m.layer_pattern.empty() && m.first_dense_layers >= m.layers;
  return {no_effect("model.experts", dense ? ": model.first_dense_layers leaves them no layer"
                                           : ": no layer of model.layer_pattern has them")};
}

/// Offload of more layers than there are.
Warnings excessive_layers(const Json& root, const std::vector<std::string>& filled_in,
                          const ScenarioParts& parts, const Scenario& s) {
  const char* path = "strategy.offload.activation_layers";
  const std::int64_t asked = parts.strategy.offload.activation_layers;
  if (s.serving || asked <= s.model.layers || !says_itself(root, filled_in, path)) return {};
  return {
      {"W001", fmt::format("{} counts as {}: the model has no more layers", path, s.model.layers)}};
}

}  // namespace

Warnings idle_fields(const Json& root, const std::vector<std::string>& filled_in,
                     const ScenarioParts& parts, const Scenario& scenario) {
  Warnings warnings;
  for (const IdleRule& rule :
       scenario.serving ? of_serving(scenario) : of_training(parts, scenario)) {
    if (!rule.idle || !says_itself(root, filled_in, rule.path)) continue;
    warnings.push_back(no_effect(rule.path, fmt::format(": {}", rule.reason)));
  }
  append(warnings, unmet_experts(scenario.model));
  append(warnings, excessive_skew(root, filled_in, scenario));
  append(warnings, excessive_layers(root, filled_in, parts, scenario));
  return warnings;
}

}  // namespace plait
