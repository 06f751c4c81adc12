// Recomputation of what latent attention makes of its latents (DeepSeek-AI 2024, arXiv 2412.19437,
// section 3.2.3; Megatron-LM's --recompute-modules mla_up_proj): queries, keys and values of all
// heads, many times as wide as the latents, are not kept. Backward, before it first reads them,
// multiplies the normed latents again.
#include <algorithm>
#include <vector>

#include "core/error.h"
#include "plan/refusal.h"
#include "plan/strategies/call_copies.h"

namespace plait {
namespace {

/// The rows that attention reads, where the block's attention runs backward.
TensorId rows_of(const Block& backward) {
  for (const Op& op : backward.ops) {
    if (body_of<Attention>(op) != nullptr) return op.operands[1].tensor;
  }
  PLAIT_CHECK(false, "a layer without attention");
  return kNoTensor;
}

bool writes(const Op& op, const std::vector<bool>& which) {
  return std::any_of(op.operands.begin(), op.operands.end(),
                     [&](const Operand& o) { return o.use != Use::kRead && which[o.tensor]; });
}
bool reads(const Op& op, TensorId t) {
  return std::any_of(op.operands.begin(), op.operands.end(),
                     [t](const Operand& o) { return o.tensor == t && o.use == Use::kRead; });
}

/// The ops that lead from what is kept to `rows`.
std::vector<Op> leading_to(const Draft& d, const Block& forward, TensorId rows) {
  std::vector<bool> wanted(d.tensors.size());
  wanted[rows] = true;
  std::vector<Op> out;
  for (auto op = forward.ops.rbegin(); op != forward.ops.rend(); ++op) {
    if (!writes(*op, wanted)) continue;
    out.insert(out.begin(), *op);
    for (const Operand& o : op->operands) {
      if (o.use == Use::kRead && d.tensors[o.tensor].scope == Scope::kCall) wanted[o.tensor] = true;
    }
  }
  return out;
}

}  // namespace

LayerPasses recompute_latents(Draft& d, const LayerPasses& layer) {
  if (!d.model.latent_attention()) {
    throw refusal("S124", "there are no latents to compute queries, keys and values from again",
                  "strategy.recompute.kind", "a model with model.kv_lora_rank above 0",
                  "choose another kind of recomputation");
  }
  const TensorId rows = rows_of(layer.backward);
  CallCopies forgotten(d), again(d);
  std::vector<Op> core = leading_to(d, layer.forward, rows);
  for (Op& op : core) {
    op.phase = Phase::kRecompute;
    for (Operand& o : op.operands) {
      if (o.use != Use::kRead || again.has(o.tensor)) o.tensor = again.of(o.tensor);
    }
  }
  LayerPasses out = layer;
  out.forward.name += ".latents", out.backward.name += ".latents";
  for (Op& op : out.forward.ops) {
    for (Operand& o : op.operands) {
      if (o.tensor == rows) o.tensor = forgotten.of(rows);
    }
  }
  auto first = std::find_if(out.backward.ops.begin(), out.backward.ops.end(),
                            [rows](const Op& op) { return reads(op, rows); });
  for (auto op = first; op != out.backward.ops.end(); ++op) {
    for (Operand& o : op->operands) {
      if (o.tensor == rows) o.tensor = again.of(rows);
    }
  }
  out.backward.ops.insert(first, core.begin(), core.end());
  return out;
}

}  // namespace plait
