#pragma once
// Which layers of a model cost alike. Those with the same parts do, but for the first one where
// embeddings are frozen, whose backward pass ends early (plan/strategies/lora.cpp).

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "plan/workload.h"

namespace plait {

/// A mixer or none, with an MLP, experts or nothing behind it, of one sort of states.
inline constexpr std::size_t kMostLayerKinds = 8;
/// One of each kind; those that a model has not are as they were made.
template <class T>
using OfKinds = std::array<T, kMostLayerKinds>;

struct KindOfLayers {
  LayerParts parts;
  bool first = false;  // the model's first layer, alone
  bool has_experts() const { return parts.feed_forward == FeedForward::kExperts; }
  bool operator==(const KindOfLayers&) const = default;
};

/// In the order in which a small model can have them: those that meet experts by their place last.
/// With modules that predict further tokens the last layer's kind is the last one, unless others
/// have to stand behind it (can_predict).
std::vector<KindOfLayers> kinds_of_layers(const Model& model, const LowRankAdapters& lora);
bool can_predict(const Model& model);

/// The model with `layers[i]` layers of kinds[i], one kind behind the other.
Model with_layers(Model model, const std::vector<KindOfLayers>& kinds,
                  const std::vector<std::int64_t>& layers);

/// Of a block of a layer's ops, "moe_layer.backward.weights".
struct NameOfPass {
  std::size_t kind = 0;
  std::string_view pass;  // "backward.weights"; empty: no layer's
};
NameOfPass pass_of_layer(std::string_view block, const std::vector<KindOfLayers>& kinds);

}  // namespace plait
