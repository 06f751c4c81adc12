// Sliding windows: layers whose attention sees the last tokens alone are like the others but for
// that. They have the same tensors and the same ops, so a kind of layer with both is doubled when
// all other strategies have rewritten it.
#include "plan/refusal.h"
#include "plan/strategies/draft.h"

namespace plait {
namespace {

/// Every block of a ring has as many pairs as any other under one causal mask. Within a window a
/// rank needs keys of its neighbours alone, and a ring would bring it all others too. Transformer
/// Engine takes windows with all_gather and a2a only
/// (attention/dot_product_attention/context_parallel.py).
void require_no_ring(const Draft& d) {
  const bool rings = d.mesh()[Axis::kCp] > 1 && d.strategy.context.rings();
  if (!rings || d.model.attention_window >= d.workload.sequence_length) return;
  throw refusal("S135",
                "attention within a window leaves most blocks of keys that travel round a "
                "ring unseen",
                "strategy.context.kind", "\"all_gather\" or \"ulysses\"",
                "change strategy.context.kind, or set model.attention_window to 0",
                {"model.attention_window"});
}

/// "layer.forward" becomes "layer.window.forward".
void name_windowed(Block& block) {
  constexpr std::string_view kLayer = "layer.";
  const std::size_t at = block.name.find(kLayer);
  if (at != std::string::npos) block.name.insert(at + kLayer.size(), "window.");
}

LayerKind with_window(LayerKind kind, std::int64_t window, bool renamed) {
  kind.windowed = true;
  const auto change_block = [&](Block& block) {
    if (renamed) name_windowed(block);
    for (Op& op : block.ops) {
      if (Attention* a = body_of<Attention>(op)) a->window = window;
    }
  };
  const auto change = [&](LayerPasses& passes) {
    for (Block* block : {&passes.forward, &passes.backward, &passes.weight_grads}) {
      change_block(*block);
    }
    for (Block& whole : passes.backward_parts) change_block(whole);
  };
  change(kind.kept);
  if (kind.recomputed) change(*kind.recomputed);
  if (renamed) name_windowed(kind.once);
  return kind;
}

}  // namespace

void apply_windows(Draft& d) {
  const Model& m = d.model;
  if (m.windowed_layers() == 0) return;
  require_no_ring(d);
  std::vector<LayerKind> windowed, all;
  for (const LayerKind& kind : d.layers) {
    bool sees[2] = {};  // all tokens, a window
    for (std::int64_t l = 0; l < m.layers; ++l) {
      if (m.parts_of(l) == kind.parts && d.is_plain(l) == kind.plain && d.is_first(l) == kind.first)
        sees[m.has_window(l) ? 1 : 0] = true;
    }
    if (sees[1]) windowed.push_back(with_window(kind, m.attention_window, sees[0]));
    if (sees[0]) all.push_back(kind);
  }
  d.layers = std::move(windowed);
  d.layers.insert(d.layers.end(), all.begin(), all.end());
}

}  // namespace plait
