#pragma once
// Which parts a model's layers have, and the units that layers with them are.

#include <algorithm>
#include <vector>

#include "plan/strategies/draft.h"

namespace plait {

/// The unit of a layer with these parts, and its name.
struct NamedParts {
  LayerParts parts;
  UnitKind unit;
  const char* name;
};
inline constexpr NamedParts kNamedParts[] = {
    {{Mixer::kAttention, FeedForward::kMlp}, UnitKind::kLayer, "layer"},
    {{Mixer::kAttention, FeedForward::kExperts}, UnitKind::kMoeLayer, "moe_layer"},
    {{Mixer::kAttention, FeedForward::kNone}, UnitKind::kAttentionLayer, "attention_layer"},
    {{Mixer::kStateSpace, FeedForward::kNone}, UnitKind::kStateSpaceLayer, "state_space_layer"},
    {{Mixer::kNone, FeedForward::kMlp}, UnitKind::kMlpLayer, "mlp_layer"},
    {{Mixer::kNone, FeedForward::kExperts}, UnitKind::kExpertsLayer, "experts_layer"},
    {{Mixer::kStateSpace, FeedForward::kMlp},
     UnitKind::kStateSpaceMlpLayer,
     "state_space_mlp_layer"},
    {{Mixer::kStateSpace, FeedForward::kExperts},
     UnitKind::kStateSpaceMoeLayer,
     "state_space_moe_layer"},
    {{Mixer::kDeltaNet, FeedForward::kNone}, UnitKind::kDeltaNetLayer, "delta_net_layer"},
    {{Mixer::kDeltaNet, FeedForward::kMlp}, UnitKind::kDeltaNetMlpLayer, "delta_net_mlp_layer"},
    {{Mixer::kDeltaNet, FeedForward::kExperts},
     UnitKind::kDeltaNetMoeLayer,
     "delta_net_moe_layer"}};

inline const NamedParts& named_parts(const LayerParts& parts) {
  return *std::ranges::find(kNamedParts, parts, &NamedParts::parts);
}

/// Those that the model's layers have, each once: without experts, then with.
inline std::vector<LayerParts> parts_of_layers(const Model& m) {
  std::vector<LayerParts> out;
  for (const bool experts : {false, true}) {
    for (std::int64_t l = 0; l < m.layers; ++l) {
      const LayerParts parts = m.parts_of(l);
      if (m.has_experts(l) == experts && std::ranges::find(out, parts) == out.end())
        out.push_back(parts);
    }
  }
  return out;
}

}  // namespace plait
