#pragma once
// A run on one rank that starts from weights that are given, by their names in the unsharded model.

#include <string>

#include "realrun/unit_buffers.h"
#include "realrun/verify.h"

namespace plait {

/// `weights(name)`: those of "layer.qkv.weight of layer 1".
template <class Weights>
void give_weights(Walker& walker, const Plan& plan, const Model& model, Weights&& weights) {
  for (const UnitBuffers& unit : unit_buffers(plan)) {
    for (const std::int32_t layer : layers_of(plan, 0, unit.weights)) {
      for (const TensorId view : unit.weight_views) {
        const Tensor& t = plan.tensors[view];
        const std::string name =
            canonical_weight(t.name, model) + " of layer " + std::to_string(layer);
        walker.device().write({unit.weights, layer, 0}, t.offset, t.elements(plan.mesh),
                              weights(name));
      }
    }
  }
}

}  // namespace plait
