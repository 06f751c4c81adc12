#include <initializer_list>

#include "scenarios/idle_rules.h"

namespace plait {
namespace {

/// Kernels around attention.
IdleRules of_attention_kernels(const IdleFacts& f) {
  const Kernels& k = f.s.kernels;
  const Model& m = f.s.model;
  const bool fused = f.s.workload.flash_attention, attends = has_part(m, "*a");
  const std::string_view spelled_out = "workload.flash_attention is false";
  const bool shares = m.kv_heads < m.heads && m.kv_lora_rank == 0;
  const bool rings = f.part.cp > 1 && f.part.context.rings();
  return {
      {"kernels.attention", k.attention != FlashKernel::kNewest && !(fused && attends),
       attends ? spelled_out : kNoAttention},
      {"kernels.packing", k.packing != Fusion::kFused && !(fused && attends),
       attends ? spelled_out : kNoAttention},
      {"kernels.qkv", k.qkv != Fusion::kFused && !attends, kNoAttention},
      {"workload.flash_attention", !fused && !attends, kNoAttention},
      {"kernels.softmax", k.softmax != SoftmaxKernel::kFused && fused, "attention is fused"},
      {"kernels.shared_keys", k.shared_keys != Fusion::kFused && (!fused || !shares),
       fused ? "query heads share no keys" : spelled_out},
      {"kernels.merge", k.merge != Fusion::kFused && !rings, "no blocks travel round a ring"},
      {"kernels.qkv", k.qkv != Fusion::kFused && m.kv_lora_rank > 0,
       "latent attention has a product for each already"},
      {"kernels.rope", k.rope != Fusion::kFused && m.positions != PositionKind::kRotary,
       "model.positions is not \"rotary\""},
  };
}

/// Whether several products share the input of attention, or of an MLP, and one of them has the
/// last word in its gradient: no adapter, and no product of the other's where both have one norm.
bool sums_inputs_of_several(const Model& m, const LowRankAdapters& lora) {
  using enum AdapterTarget;
  const auto adapts = [&lora](std::initializer_list<AdapterTarget> targets) {
    return lora.any() &&
           std::ranges::any_of(targets, [&lora](AdapterTarget t) { return lora.has(t); });
  };
  const bool other = m.experts > 0 || m.kv_lora_rank > 0 || !m.layer_pattern.empty();
  const bool attention = !m.shared_norm && !adapts({kQkv, kQ, kK, kV});
  return other || attention || (m.gated_mlp && !adapts({kUp, kGateHalf, kUpHalf}));
}

bool serves_in_8_bits(const Scenario& s) {
  if (!s.serving) return false;
  const ServingPrecision& p = s.serving->precision;
  return p.products == DType::kFp8 || p.expert_products == DType::kFp8;
}

/// Kernels of layers.
IdleRules of_layer_kernels(const IdleFacts& f) {
  const Kernels& k = f.s.kernels;
  const Model& m = f.s.model;
  const bool biases =
      m.qkv_bias || m.attention_output_bias || m.mlp_bias || m.output_bias || m.masked_lm_head;
  const bool experts_alone = f.experts && m.shared_ffn_hidden == 0 && m.first_dense_layers == 0 &&
                             m.moe_every == 1 && m.layer_pattern.empty();
  const bool gated = m.gated_mlp && has_part(m, "-magE");
  const bool splits_loss = f.part.tp > 1 && !f.s.strategy.tensor.gather_logits;
  const std::string_view no_gates = "the model has no gated MLP";
  return {
      {"kernels.gate", k.gate != Fusion::kFused && !gated, no_gates},
      {"kernels.gate", k.gate != Fusion::kFused && m.gated_mlp && experts_alone,
       "experts' gate and up are one product"},
      {"kernels.activation", k.activation != Fusion::kFused && !gated, no_gates},
      {"kernels.clamp", k.clamp != Fusion::kFused && !gated, no_gates},
      {"kernels.sequence", k.sequence != Fusion::kFused && !f.part.sequence_parallel,
       "sequence_parallel is false"},
      {"kernels.bias", k.bias != Fusion::kFused && !biases, "the model has no biases"},
      {"kernels.bias", k.bias != Fusion::kFused && biases && f.s.workload.lora.any(),
       "beside adapters no bias is trained"},
      {"kernels.dropout", k.dropout != Fusion::kFused && m.dropout == 0, "model.dropout is 0"},
      {"kernels.adapters", k.adapters != Fusion::kEager && !f.s.workload.lora.any(),
       "there are no adapters"},
      {"kernels.amax",
       k.amax != Fusion::kFused && !f.s.workload.precision.narrows() && !serves_in_8_bits(f.s),
       "no product is narrowed"},
      {"kernels.cublas",
       k.cublas != Cublas::k13 && f.s.workload.precision.products() != DType::kFp8,
       "no product is in 8 bits"},
      {"kernels.cross_entropy", k.cross_entropy == Fusion::kSingle && splits_loss,
       "ranks have some of the vocabulary each"},
  };
}

/// Of inputs, which tensor parallelism sums, and of weights over microbatches.
IdleRules of_gradient_sums(const IdleFacts& f) {
  const Kernels& k = f.s.kernels;
  const Model& m = f.s.model;
  const bool sums = f.part.tp > 1 && !f.part.sequence_parallel;
  const bool in_shards =
      f.part.zero_stage >= 2 && !f.part.fsdp_options.sums_whole(f.part.zero_stage, f.part.pp);
  const bool autocasts = f.s.workload.precision.autocast.has_value();
  return {
      {"kernels.input_sums", k.input_sums != Fusion::kFused && !sums,
       "no input's gradient is summed over tp"},
      {"kernels.input_sums",
       k.input_sums != Fusion::kFused && sums && !sums_inputs_of_several(m, f.s.workload.lora),
       f.s.workload.lora.any() ? "adapters' gradients come last, and all are summed at once"
                               : "attention and MLP share an input, whose gradient is summed once"},
      {"kernels.input_sums", k.input_sums != Fusion::kFused && sums && autocasts,
       "autocast's gradients of inputs are summed in fp32, behind their casts"},
      {"strategy.tensor.overlap",
       f.part.tp > 1 && f.s.strategy.tensor.overlap == TensorOverlap::kNone && autocasts,
       "autocast casts gradients of inputs behind both products, before they are summed"},
      {"kernels.gradient_sum", k.gradient_sum != Fusion::kFused && autocasts,
       "autocast adds gradients up behind their casts"},
      {"kernels.gradient_sum",
       k.gradient_sum != Fusion::kFused && (f.microbatches == 1 || in_shards) && !m.tied_embeddings,
       f.microbatches == 1 ? "a step has one microbatch" : "shards of gradients are summed"},
      {"kernels.table_gradient", k.table_gradient != Fusion::kFused && in_shards,
       "shards of gradients are summed"},
  };
}

IdleRules of_expert_kernels(const IdleFacts& f, const Kernels& written) {
  const Kernels& k = written;
  const bool deepep = k.exchange == Dispatcher::kDeepEp;
  const bool gathers = f.part.expert_dispatch == ExpertDispatch::kAllGather;
  return {
      {"kernels.routing", k.routing != Fusion::kFused && !f.experts, kNoExperts},
      {"kernels.experts", k.experts != Fusion::kFused && !f.experts, kNoExperts},
      {"kernels.expert_bias", k.expert_bias != Fusion::kFused && !f.experts, kNoExperts},
      {"kernels.expert_padding",
       k.expert_padding != Fusion::kFused && (!f.experts || !f.s.workload.precision.narrows()),
       f.experts ? "no product is narrowed" : kNoExperts},
      {"kernels.exchange", deepep && (f.expert_ranks == 1 || gathers),
       !f.experts            ? kNoExperts
       : f.expert_ranks == 1 ? "each rank has all experts"
                             : "strategy.expert_dispatch is \"all_gather\""},
      {"kernels.exchange", deepep && !f.s.cluster.device.runs_deepep(),
       "DeepEP runs on GPUs with NVLink, of compute capability 8.0 and later"},
  };
}

}  // namespace

IdleRules idle_kernels(const IdleFacts& f, const Kernels& written) {
  IdleRules out = of_attention_kernels(f);
  for (const IdleRules& rules :
       {of_layer_kernels(f), of_gradient_sums(f), of_expert_kernels(f, written)}) {
    out.insert(out.end(), rules.begin(), rules.end());
  }
  return out;
}

}  // namespace plait
