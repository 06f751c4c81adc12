#pragma once
// Which parts a model's layers have, and what layers with them are called: in blocks of ops,
// "moe_layer.forward", and in buffers of parameters, "moe_layer.weights".

#include <algorithm>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace plait {

struct LayerName {
  LayerParts parts;
  std::string_view name;
};
inline constexpr LayerName kLayerNames[] = {
    {{Mixer::kAttention, FeedForward::kMlp}, "layer"},
    {{Mixer::kAttention, FeedForward::kExperts}, "moe_layer"},
    {{Mixer::kAttention, FeedForward::kNone}, "attention_layer"},
    {{Mixer::kStateSpace, FeedForward::kNone}, "state_space_layer"},
    {{Mixer::kNone, FeedForward::kMlp}, "mlp_layer"},
    {{Mixer::kNone, FeedForward::kExperts}, "experts_layer"},
    {{Mixer::kStateSpace, FeedForward::kMlp}, "state_space_mlp_layer"},
    {{Mixer::kStateSpace, FeedForward::kExperts}, "state_space_moe_layer"},
    {{Mixer::kDeltaNet, FeedForward::kNone}, "delta_net_layer"},
    {{Mixer::kDeltaNet, FeedForward::kMlp}, "delta_net_mlp_layer"},
    {{Mixer::kDeltaNet, FeedForward::kExperts}, "delta_net_moe_layer"}};

inline std::string_view name_of(const LayerParts& parts) {
  return std::ranges::find(kLayerNames, parts, &LayerName::parts)->name;
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
