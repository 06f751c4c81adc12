// Context parallelism: a rank holds 1 / (cp ulysses) of each sequence. Everything but attention
// works token by token; how attention meets the keys and values of all tokens is one of
//
//   all_gather   context_gather.cpp     ulysses   context_ulysses.cpp
//   ring         context_ring.cpp       hybrid    ulysses, and within what it leaves a ring
//
// Weights are shared, so the ranks reduce gradients and shard the optimizer as data-parallel ones
// do.
//
// The sequence is cut into 2 n chunks, n = cp ulysses, and rank i holds chunks i and 2 n - 1 - i,
// so that every rank has the same number of causal pairs (Grattafiori et al. 2024, section 3.3.2).
// Rows that come from several ranks lie as those hold them and are put in order by a copy, as
// Transformer Engine does. The chunks of `ulysses` neighbours are the two chunks that a rank would
// hold in a ring of cp alone.
#include "plan/refusal.h"
#include "plan/strategies/context_parallel.h"

namespace plait {
namespace {

/// Heads that tp leaves to a rank can be dealt to `n` ranks; key-value heads are repeated where
/// they are fewer.
void require_heads(const Draft& d, std::int64_t n) {
  const std::int64_t tp = d.mesh().size_of(kTensorAxes);
  const std::int64_t heads = d.model.heads / tp, kv_heads = d.model.kv_heads / tp;
  const bool kv_deals = kv_heads % n == 0 || n % kv_heads == 0;
  if (heads % n == 0 && kv_deals) return;
  throw refusal(
      "S016",
      std::to_string(heads) + " heads and " + std::to_string(kv_heads) +
          " key-value heads of a rank cannot be dealt to " + std::to_string(n) +
          " ranks in exchange for tokens",
      "strategy.context.kind",
      "a number of ranks that divides the heads, and divides the key-value heads or is a "
      "multiple of them",
      "use fewer ranks for ulysses (strategy.cp, strategy.context.ulysses), a smaller "
      "strategy.tp, or strategy.context.kind = \"ring\"",
      {"strategy.cp", "strategy.context.ulysses", "strategy.tp", "model.heads", "model.kv_heads"});
}

/// Each block of a ring has as many pairs as any other under one causal mask, not under one for
/// each document.
void require_one_mask(const Draft& d) {
  if (d.documents.bounds.empty() || !d.strategy.context.rings()) return;
  throw refusal("S133", "packed documents leave the blocks of keys that travel round a ring uneven",
                "strategy.context.kind", "\"all_gather\" or \"ulysses\"",
                "change strategy.context.kind, or set workload.documents.packing to \"none\"",
                {"workload.documents.packing"});
}

void require_context(const Draft& d) {
  const ContextKind kind = d.strategy.context.kind;
  const std::int64_t cp = d.mesh()[Axis::kCp], ulysses = d.mesh()[Axis::kUlysses];
  if (ulysses > 1) require_heads(d, ulysses);
  if (cp > 1) require_one_mask(d);
  if (cp > 1 && d.strategy.context.rings() && !d.workload.flash_attention) {
    throw refusal("S017", "a ring merges blocks by their log-sum-exp, which fused attention keeps",
                  "strategy.context.kind", "workload.flash_attention = true",
                  "switch on workload.flash_attention, or use \"all_gather\" or \"ulysses\"",
                  {"workload.flash_attention"});
  }
  const bool in_kind =
      (cp == 1 || kind != ContextKind::kUlysses) &&
      (ulysses == 1 || kind == ContextKind::kUlysses || kind == ContextKind::kHybrid);
  if (in_kind) return;
  throw refusal("S018",
                "the mesh has cp = " + std::to_string(cp) + " and ulysses = " +
                    std::to_string(ulysses) + ", which is not " + std::string(name_of(kind)),
                "strategy.context.kind", "ulysses alone along ulysses, hybrid along both",
                "set strategy.context.kind to \"hybrid\"");
}

}  // namespace

Tensor keys_and_values(const Tensor& packed) {
  Tensor t = packed;
  t.scope = Scope::kCall;
  Sections& sections = t.dims[2].sections;
  t.dims[2].global -= std::exchange(sections[0], 0);
  return t;
}

void apply_context_parallel(Draft& d) {
  require_context(d);
  for (LayerKind& layer : d.layers) {
    if (d.mesh()[Axis::kUlysses] > 1) exchange_heads(d, layer.kept);
    if (d.mesh()[Axis::kCp] == 1) continue;
    for (Block* block : {&layer.kept.forward, &layer.kept.backward}) {
      d.strategy.context.rings() ? pass_keys_round(d, *block) : gather_keys(d, *block);
    }
  }
}

}  // namespace plait
