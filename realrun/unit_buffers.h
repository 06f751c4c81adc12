#pragma once
// The flat parameter buffers of a plan, read off its tensors: which buffer the weights of a unit
// are views of, and which shards and optimizer state belong to it.

#include <string>
#include <vector>

#include "model/model.h"
#include "plan/plan.h"

namespace plait {

struct UnitBuffers {
  std::string name;  // "embedding", "root", "layer", "experts", "layer_matrices", "head", ...
  TensorId weights = kNoTensor, gradients = kNoTensor;  // whole buffers
  TensorId weight_shard = kNoTensor, gradient_shard = kNoTensor, master = kNoTensor;
  TensorId moment = kNoTensor;
  /// Of offload, in host memory: the gradient that Adam reads, the weights that it updates.
  TensorId gradient_host = kNoTensor, weight_host = kNoTensor;
  std::vector<TensorId> weight_views, gradient_views;  // in the same order
  bool frozen() const { return moment == kNoTensor; }
  /// What a rank has of the unit between steps: of a trained one the optimizer's state, of a frozen
  /// one its weights.
  TensorId anchor() const {
    if (!frozen()) return moment;
    return weight_shard != kNoTensor ? weight_shard : weights;
  }
};

std::vector<UnitBuffers> unit_buffers(const Plan& plan);

/// A tied output matrix is the embedding under another name, and the second form of a frozen weight
/// (plan/strategies/narrow.cpp) the weight.
std::string canonical_weight(const std::string& name, const Model& model);

}  // namespace plait
