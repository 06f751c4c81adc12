// Layers at the ends of the model whose products are not narrowed (Precision::is_plain), since
// training in few bits diverges less with them: Megatron-Core's --first-last-layers-bf16, and the
// last layers of Abecassis et al. 2025 (arXiv 2509.25149, section 4.1). They are a kind of layer of
// their own, with the same tensors; where all layers of a kind are plain, no other is left.
#include "plan/refusal.h"
#include "plan/strategies/draft.h"

namespace plait {
namespace {

void require_layers(const Draft& d) {
  const Precision& p = d.workload.precision;
  if (p.plain_first + p.plain_last <= d.model.layers) return;
  throw refusal(
      "S136",
      std::to_string(p.plain_first) + " plain layers at the start and " +
          std::to_string(p.plain_last) + " at the end of a model of " +
          std::to_string(d.model.layers),
      p.plain_last > 0 ? "workload.precision.plain_last" : "workload.precision.plain_first",
      "no more than model.layers in all", "lower workload.precision.plain_first or plain_last",
      {"workload.precision.plain_first", "model.layers"});
}

/// "layer.forward" becomes "layer.plain.forward".
void name_plain(Block& block) {
  constexpr std::string_view kLayer = "layer.";
  block.name.insert(block.name.find(kLayer) + kLayer.size(), "plain.");
}

LayerKind plain_kind(LayerKind kind, bool renamed) {
  kind.plain = true;
  if (renamed) name_plain(kind.kept.forward), name_plain(kind.kept.backward);
  return kind;
}

}  // namespace

void keep_plain_layers(Draft& d) {
  require_layers(d);
  std::vector<LayerKind> plain, narrow;
  for (const LayerKind& kind : d.layers) {
    bool has[2] = {};  // narrow ones, plain ones
    for (std::int64_t l = 0; l < d.model.layers; ++l) {
      if (d.model.parts_of(l) == kind.parts) has[d.is_plain(l) ? 1 : 0] = true;
    }
    if (has[1]) plain.push_back(plain_kind(kind, has[0]));
    if (has[0]) narrow.push_back(kind);
  }
  d.layers = std::move(plain);
  d.layers.insert(d.layers.end(), narrow.begin(), narrow.end());
}

}  // namespace plait
