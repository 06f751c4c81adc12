#pragma once
// Models, workloads and strategies that are small enough to count by hand, and walks over plans.

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string_view>

#include "core/error.h"
#include "model/model.h"
#include "plan/plan.h"
#include "plan/walk.h"

namespace plait {

/// GPT-2's shape: LayerNorm, biases, learned positions, four-fold MLP, tied embeddings, dropout.
inline Model tiny_gpt(std::int64_t layers = 2) {
  Model m;
  m.name = "tiny-gpt";
  m.layers = layers, m.hidden = 16, m.ffn_hidden = 64;
  m.heads = 4, m.kv_heads = 4, m.head_dim = 4;
  m.vocab = 32, m.max_positions = 8;
  m.norm = NormKind::kLayerNorm, m.activation = ActivationKind::kGelu, m.gated_mlp = false;
  m.positions = PositionKind::kLearned, m.tied_embeddings = true;
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  m.dropout = 0.1;
  return m;
}

/// BERT's shape: GPT-2's, but that tokens see all others; norms behind the residual sums and the
/// embedding, two types of tokens, the masked-LM head.
inline Model tiny_bert(std::int64_t layers = 2) {
  Model m = tiny_gpt(layers);
  m.name = "tiny-bert", m.causal = false, m.norm_position = NormPosition::kPost;
  m.embedding_norm = true, m.token_types = 2, m.masked_lm_head = true;
  return m;
}

/// LLaMA's shape: RMSNorm, no biases, rotary positions, gated MLP, grouped queries, untied.
inline Model tiny_llama(std::int64_t layers = 2) {
  Model m;
  m.name = "tiny-llama";
  m.layers = layers, m.hidden = 16, m.ffn_hidden = 24;
  m.heads = 4, m.kv_heads = 2, m.head_dim = 4, m.vocab = 32;
  return m;
}

/// Gemma 3's norms: of heads too, and of what branches add.
inline Model tiny_gemma(std::int64_t layers = 2) {
  Model m = tiny_llama(layers);
  m.name = "tiny-gemma", m.norm_position = NormPosition::kBoth, m.qk_norm = true;
  return m;
}

/// Sequences of 8 tokens. No clipping, so that no scalar all_reduce joins the counts.
inline Workload tiny_workload(std::int64_t global_batch, std::int64_t micro_batch = 1) {
  Workload w;
  w.sequence_length = 8, w.global_batch = global_batch, w.micro_batch = micro_batch;
  w.gradient_clipping = false;
  return w;
}

struct Degrees {
  std::int64_t pp = 1, dp = 1, fsdp = 1, tp = 1, cp = 1, ulysses = 1;
};
inline Strategy split(Degrees d, int zero_stage = 0) {
  Strategy s;
  s.mesh.size = {d.pp, d.dp, d.fsdp, d.cp, d.ulysses, 1, d.tp, 1};
  s.zero_stage = zero_stage;
  return s;
}

/// Collectives or messages: how many, and the sum of their sizes.
struct Volume {
  std::int64_t count = 0, bytes = 0;
  bool operator==(const Volume&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Volume& t) {
    return out << t.count << " of " << t.bytes << " B together";
  }
};

inline void add_if(Volume& t, const Op& op, CollectiveKind kind, AxisSet axes) {
  const Collective* c = std::get_if<Collective>(&op.body);
  if (c == nullptr || c->kind != kind || !(c->axes == axes)) return;
  ++t.count, t.bytes += c->bytes().value;
}
inline Volume traffic(const Block& block, CollectiveKind kind, AxisSet axes) {
  Volume t;
  for (const Op& op : block.ops) add_if(t, op, kind, axes);
  return t;
}
inline Volume traffic(const Plan& plan, std::size_t stage, CollectiveKind kind, AxisSet axes) {
  Volume t;
  for_each_op(plan, stage, [&](const Call&, const Op& op) { add_if(t, op, kind, axes); });
  return t;
}
inline std::int64_t collectives(const Block& block) {
  std::int64_t n = 0;
  for (const Op& op : block.ops) n += std::holds_alternative<Collective>(op.body) ? 1 : 0;
  return n;
}

inline Block block_named(const Plan& plan, std::string_view name) {
  for (const Block& b : plan.blocks) {
    if (b.name == name) return b;
  }
  ADD_FAILURE() << "no block is called " << name;
  return {};
}
inline Tensor tensor_named(const Plan& plan, std::string_view name) {
  for (const Tensor& t : plan.tensors) {
    if (t.name == name) return t;
  }
  ADD_FAILURE() << "no tensor is called " << name;
  return {};
}

/// FLOPs of the ops that `counts` accepts, over all ranks.
template <class F>
Flops flops_of(const Plan& plan, F&& counts) {
  Flops sum;
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    for_each_op(plan, s, [&](const Call&, const Op& op) {
      const Compute* c = std::get_if<Compute>(&op.body);
      if (c != nullptr && counts(op)) sum += flops(*c);
    });
  }
  return sum * static_cast<double>(plan.places_per_stage());
}

/// The code that a plan is refused with; empty: it is not.
inline std::string refusal_of(const Model& m, const Workload& w, const Strategy& s = {}) {
  try {
    make_plan(m, w, s);
  } catch (const InputError& e) {
    return e.text().code;
  }
  return "";
}

}  // namespace plait
