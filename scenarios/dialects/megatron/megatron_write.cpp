#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>

#include "model/dtype.h"
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

/// Of a relu it has the square alone, and of a gated gelu the quick one.
void write_activation(ExportDraft& d) {
  const Model& m = d.scenario.model;
  const bool silu = m.activation == ActivationKind::kSilu;
  const bool relu = m.activation == ActivationKind::kRelu;
  if (m.gated_mlp ? relu : silu) return;
  if (m.gated_mlp) d.set(silu ? "--swiglu" : "--quick-geglu");
  if (relu) d.set("--squared-relu");
  d.say({"model.gated_mlp"});
  const bool same = silu || (!relu && !m.gated_mlp);
  if (same) d.say({"model.activation"});
  if (!same) d.contradict("model.activation");
}

/// All products have biases, or none has but those of queries, keys and values.
void write_biases(ExportDraft& d) {
  const Model& m = d.scenario.model;
  const bool everywhere = m.mlp_bias;
  if (!everywhere) d.set("--disable-bias-linear");
  if (!everywhere && m.qkv_bias) d.set("--add-qkv-bias");
  d.say({"model.mlp_bias"});
  for (const auto& [path, there, written] :
       {std::tuple("model.qkv_bias", m.qkv_bias, everywhere || m.qkv_bias),
        std::tuple("model.attention_output_bias", m.attention_output_bias, everywhere)}) {
    if (there == written) d.say({path});
    if (there != written) d.contradict(path);
  }
}

void write_model(ExportDraft& d) {
  const Model& m = d.scenario.model;
  for (const Same& same : kModelSizes) d.copy(std::string(same.argument), same.path);
  write_hybrid(d);
  write_heads(d);
  // Megatron-LM wants as many positions as the sequence is long, also where nothing is learned.
  const std::int64_t sequence = d.scenario.workload.sequence_length;
  d.set("--max-position-embeddings", std::max(m.max_positions, sequence));
  if (m.max_positions >= sequence) d.say({"model.max_positions"});
  d.say({"model.vocab", "model.norm", "model.positions", "model.tied_embeddings"});
  // NullTokenizer counts one token more, the end of a document.
  d.set("--tokenizer-type", "NullTokenizer");
  d.set("--vocab-size", m.vocab - 1);
  d.set("--padded-vocab-size", m.vocab);
  d.set("--normalization", m.norm == NormKind::kRmsNorm ? "RMSNorm" : "LayerNorm");
  switch (m.positions) {
    case PositionKind::kLearned: d.set("--position-embedding-type", "learned_absolute"); break;
    case PositionKind::kRotary: d.set("--position-embedding-type", "rope"); break;
    case PositionKind::kNone: d.set("--position-embedding-type", "none"); break;
  }
  if (!m.tied_embeddings) d.set("--untie-embeddings-and-output-weights");
  const bool alike = m.attention_dropout < 0;
  d.copy("--attention-dropout", alike ? "model.dropout" : "model.attention_dropout");
  d.copy("--hidden-dropout", "model.dropout");
  write_activation(d);
  write_biases(d);
  if (!m.parallel_attention) d.say({"model.parallel_attention"});
  write_windows(d);
  if (m.mtp_layers > 0) d.set("--mtp-num-layers", m.mtp_layers);
  d.say({"model.mtp_layers"});
}

/// Gradients accumulate and travel in fp32, or both in the type of the weights.
bool says_gradients(const Precision& p) {
  return p.gradients == p.reduction && (p.gradients == DType::kFp32 || p.gradients == p.weights);
}

void write_gradients(ExportDraft& d) {
  const Precision& p = d.scenario.workload.precision;
  if (!says_gradients(p)) return;
  const bool low = p.weights != DType::kFp32;
  if (low && p.gradients == DType::kFp32) d.set("--accumulate-allreduce-grads-in-fp32");
  if (p.gradients == DType::kBf16) d.set("--grad-reduce-in-bf16");
  d.say({"workload.precision.gradients", "workload.precision.reduction"});
}

/// The optimizer's state is in host memory only beside a distributed optimizer, and beside weights
/// kept in 8 bits only with --fp8-recipe delayed (validate_args; OptimizerConfig).
bool offloads(const Scenario& s) {
  const Precision& p = s.workload.precision;
  const bool kept = p.keeps_narrow() && !p.gathers_narrow();
  return s.strategy.offload.optimizer == Offload::kCpu && s.strategy.zero_stage >= 1 && !kept;
}

/// The precision-aware optimizer is the one with moments and master weights of other types and the
/// one in host memory.
void write_optimizer_types(ExportDraft& d) {
  const Precision& p = d.scenario.workload.precision;
  const DType moments = p.moments;
  const bool small = moments != DType::kFp32;
  const bool half = p.master == DType::kFp16 && p.weights == DType::kBf16;
  const bool aware =
      offloads(d.scenario) || ((small || half) && d.scenario.strategy.zero_stage == 1);
  if (aware) d.set("--use-precision-aware-optimizer");
  if (aware && half) d.set("--main-params-dtype", "fp16");
  if (p.master == DType::kFp32 || (aware && half)) d.say({"workload.precision.master"});
  if (aware && small) {
    d.set("--exp-avg-dtype", std::string(name_of(moments)));
    d.set("--exp-avg-sq-dtype", std::string(name_of(moments)));
  }
  if (aware || !small) d.say({"workload.precision.moments"});
}

void write_precision(ExportDraft& d) {
  const Precision& p = d.scenario.workload.precision;
  if (p.weights == DType::kBf16) d.set("--bf16");
  if (p.weights == DType::kFp16) d.set("--fp16");
  d.say({"workload.precision.weights"});
  if (p.narrow_logits && p.weights == DType::kFp16) {
    d.set("--fp16-lm-cross-entropy");
    d.say({"workload.precision.narrow_logits"});
  }
  write_gradients(d);
  write_optimizer_types(d);
  write_narrow(d);
}

/// Positions begin anew with each document. Transformer Engine takes no notice of the mask that
/// would keep attention within it (Megatron-LM issue 2357), so that packing is listed.
void write_documents(ExportDraft& d) {
  if (d.scenario.workload.documents.packing != Packing::kPacked) return;
  d.set("--reset-position-ids");
  d.set("--reset-attention-mask");
}

void write_workload(ExportDraft& d) {
  const Workload& w = d.scenario.workload;
  for (const Same& same : kSizes) d.copy(std::string(same.argument), same.path);
  write_documents(d);
  write_precision(d);
  write_attention(d);
  write_fusions(d);
  d.set("--clip-grad", w.gradient_clipping ? "1.0" : "0.0");
  d.say({"workload.gradient_clipping"});
}

/// Without how long, and how fast, it does not start (megatron/training/training.py,
/// get_optimizer_param_scheduler).
void write_training(ExportDraft& d) {
  const double tokens = d.scenario.training ? d.scenario.training->tokens : 0;
  const std::int64_t sequence = d.scenario.workload.sequence_length;
  const auto samples = static_cast<std::int64_t>(tokens / static_cast<double>(sequence));
  if (samples > 0) {
    d.set("--train-samples", samples);
  } else {
    d.ask("--train-iters or --train-samples");
  }
  if (static_cast<double>(samples * sequence) == tokens) d.say({"training.tokens"});
  d.ask("--lr");
}

void write_offload(ExportDraft& d) {
  if (!offloads(d.scenario)) return;
  d.set("--optimizer-cpu-offload");
  d.say({"strategy.offload.optimizer"});
}

void write_sharding(ExportDraft& d) {
  const Strategy& s = d.scenario.strategy;
  const Replicas r = replicas_of(s);
  if (s.zero_stage >= 1) d.set("--use-distributed-optimizer");
  if (s.zero_stage >= 2) {
    d.set("--use-megatron-fsdp");
    d.set("--data-parallel-sharding-strategy",
          s.zero_stage == 3 ? "optim_grads_params" : "optim_grads");
    d.set("--ckpt-format", "fsdp_dtensor");
    d.set("--no-gradient-accumulation-fusion");
  }
  if (r.dp > 1 && r.fsdp > 1) d.set("--num-distributed-optimizer-instances", r.dp);
  d.say({"strategy.zero_stage"});
  if (!counts_ranks_of_experts(s)) return;
  // What the machine has beyond the other axes falls to one axis; how much that is, a launcher
  // says.
  const bool rest_shards = s.zero_stage >= 2 || (r.dp > 1 && r.fsdp > 1);
  const bool launched = d.launcher != Launcher::kNone;
  if (launched || rest_shards) d.say({"strategy.dp"});
  if (launched || !rest_shards) d.say({"strategy.fsdp"});
}

void write_reduction(ExportDraft& d) {
  const DataParallelOptions& o = d.scenario.strategy.data;
  d.say({"strategy.data.overlap"});
  if (!o.overlap && o.bucket == kWholeBucket) d.say({"strategy.data.bucket"});
  if (!o.overlap) return;
  d.set("--overlap-grad-reduce");
  if (d.scenario.strategy.zero_stage >= 1) {
    if (o.overlap_gathers) d.set("--overlap-param-gather");
    d.say({"strategy.data.overlap_gathers"});
  }
  const Precision& p = d.scenario.workload.precision;
  const std::int64_t elements = o.bucket.value / size_of(p.gradients);
  if (elements == 0) return;
  const Mesh& mesh = d.scenario.strategy.mesh;
  const std::int64_t replicas = mesh[Axis::kDp] * mesh[Axis::kFsdp] * mesh[Axis::kEp];
  if (elements != std::max(kLeastBucket, kBucketOfReplica * replicas)) {
    d.set("--ddp-bucket-size", elements);
  }
  const bool whole = elements * size_of(p.gradients) == o.bucket.value;
  if (whole && says_gradients(p)) d.say({"strategy.data.bucket"});
}

/// Stages around the ranks that split layers, and replicas around stages: the one order that
/// Megatron-LM knows beside its own, and knows without other axes (megatron/training/arguments.py).
void write_placement(ExportDraft& d) {
  const Mesh& mesh = d.scenario.strategy.mesh;
  constexpr std::array kOrder = {Axis::kTp, Axis::kPp, Axis::kFsdp, Axis::kDp};
  const auto several = [&mesh](Axis axis) { return mesh[axis] > 1; };
  std::vector<Axis> order, expected;
  std::ranges::copy_if(d.scenario.placement_rule.order, std::back_inserter(order), several);
  std::ranges::copy_if(kOrder, std::back_inserter(expected), several);
  if (d.scenario.placement.empty() || order != expected) return;
  d.set("--use-tp-pp-dp-mapping");
  d.say({"placement"});
}

void write_strategy(ExportDraft& d) {
  const Strategy& s = d.scenario.strategy;
  for (const Same& same : kAxes) d.copy(std::string(same.argument), same.path);
  const bool splits = s.mesh.size_of(kTensorAxes) > 1;
  if (s.sequence_parallel && splits) d.set("--sequence-parallel");
  if (!s.sequence_parallel || splits) d.say({"strategy.sequence_parallel"});
  write_context(d);
  if (splits && s.tensor.overlap == TensorOverlap::kRing) d.set("--tp-comm-overlap");
  if (splits) d.say({"strategy.tensor.overlap"});
  write_placement(d);
  write_pipeline(d);
  write_recompute(d);
  write_offload(d);
  write_sharding(d);
  write_reduction(d);
}

}  // namespace

void write(ExportDraft& d) {
  write_model(d);
  write_workload(d);
  write_training(d);
  write_strategy(d);
  write_experts(d);
  if (has_pattern(d.scenario.model) && d.launcher == Launcher::kNone) {
    d.ask("pretrain_mamba.py in place of pretrain_gpt.py");
  }
  d.set("--mock-data");
}

}  // namespace plait::megatron
