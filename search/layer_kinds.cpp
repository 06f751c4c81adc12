#include "search/layer_kinds.h"

#include <algorithm>

#include "core/error.h"
#include "plan/layer_names.h"

namespace plait {
namespace {

/// Whether a layer has experts is a question of its place, not of its letter.
bool placed_experts(const KindOfLayers& k) {
  return k.has_experts() && k.parts.mixer != Mixer::kNone;
}

KindOfLayers last_of(const Model& m) { return {m.parts_of(m.layers - 1)}; }

char letter_of(const LayerParts& parts) {
  const bool alone = parts.feed_forward == FeedForward::kNone;
  switch (parts.mixer) {
    case Mixer::kNone: return parts.feed_forward == FeedForward::kExperts ? 'E' : '-';
    case Mixer::kAttention: return alone ? '*' : 'a';
    case Mixer::kStateSpace: return alone ? 'M' : 'm';
    case Mixer::kDeltaNet: return alone ? 'G' : 'g';
  }
  return '*';
}

}  // namespace

std::vector<KindOfLayers> kinds_of_layers(const Model& m, const LowRankAdapters& lora) {
  std::vector<KindOfLayers> out;
  const bool first_differs = lora.any() && m.layers > 0;
  if (first_differs) out.push_back({m.parts_of(0), true});
  for (const LayerParts& parts : parts_of_layers(m)) {
    bool present = !first_differs;
    for (std::int64_t l = 1; !present && l < m.layers; ++l) present = m.parts_of(l) == parts;
    if (present) out.push_back({parts});
  }
  std::stable_partition(out.begin(), out.end(),
                        [](const KindOfLayers& k) { return !placed_experts(k); });
  if (m.mtp_layers > 0) {
    const auto at = std::ranges::find(out, last_of(m));
    const auto behind = std::ranges::find_if(out, placed_experts);
    const auto end = at != out.end() && placed_experts(*at) ? out.end() : behind;
    if (at != out.end()) std::rotate(at, at + 1, end);
  }
  PLAIT_CHECK(out.size() <= kMostLayerKinds, "more kinds of layers than there can be");
  return out;
}

bool can_predict(const Model& m) {
  if (m.mtp_layers == 0 || m.layer_pattern.empty()) return true;
  return kinds_of_layers(m, {}).back() == last_of(m);
}

Model with_layers(Model m, const std::vector<KindOfLayers>& kinds,
                  const std::vector<std::int64_t>& layers) {
  const bool pattern = !m.layer_pattern.empty();
  m.layer_pattern.clear();
  m.layers = m.first_dense_layers = 0, m.moe_every = 1;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (!placed_experts(kinds[k])) m.first_dense_layers += layers[k];
    m.layers += layers[k];
    const std::string letters(static_cast<std::size_t>(layers[k]), letter_of(kinds[k].parts));
    if (pattern) m.layer_pattern += letters;
  }
  return m;
}

NameOfPass pass_of_layer(std::string_view block, const std::vector<KindOfLayers>& kinds) {
  constexpr std::string_view kLayer = "layer.", kFirst = "first.";
  const std::size_t at = block.find(kLayer);
  if (at == std::string_view::npos) return {};
  const std::string_view name = block.substr(0, at + kLayer.size() - 1);
  std::string_view pass = block.substr(at + kLayer.size());
  const bool first = pass.starts_with(kFirst) || kinds.size() == 1;
  if (pass.starts_with(kFirst)) pass.remove_prefix(kFirst.size());
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (name_of(kinds[k].parts) != name || (kinds[k].first && !first)) continue;
    return {k, pass};
  }
  return {};
}

}  // namespace plait
