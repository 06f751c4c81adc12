#pragma once
// The training state of a whole model after a real run, gathered by global element index from the
// ranks, whatever the sharding: what two plans of one model must agree on.

#include <map>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "model/model.h"
#include "realrun/walk.h"

namespace plait {

/// Elements of one tensor of the model that a rank holds and answers for.
struct TensorPart {
  std::string name;                 // "layer.qkv.weight of layer 1"
  std::int64_t size = 0;            // elements of the whole tensor
  std::vector<std::int64_t> index;  // global, row-major
  std::vector<double> value;        // in the same order
};

/// What one rank has at the end of a run. It answers for the share that its optimizer state covers.
struct StateShard {
  std::vector<double> losses;  // its part of each step's
  std::vector<TensorPart> gradients, moments, weights;
  Bytes planned, held;  // peak memory: of plan/memory.h, and as it was
};
/// For the journey to another rank.
std::vector<std::byte> packed(const StateShard& state);
StateShard state_shard(const std::vector<std::byte>& packed);

StateShard state_of(Walker& walker, const Plan& plan, const Model& model);
/// This rank's part of the loss of the step just done; the parts of all ranks add up to it.
double loss_of(Walker& walker, const Plan& plan);

/// A whole tensor.
struct Values {
  std::vector<double> value;
  std::vector<bool> filled;
};

struct ModelState {
  std::vector<double> losses;               // of each step
  std::map<std::string, Values> gradients;  // of the last step
  /// Adam's first moments, sums of clipped gradients: they show the clip factor, which Adam's
  /// update hides (it does not change when all gradients are scaled).
  std::map<std::string, Values> moments;
  std::map<std::string, Values> weights;  // after the last step
  bool replicas_agree = true;             // ranks that hold the same elements hold the same numbers
  std::vector<Bytes> planned, held;       // of each rank
};
/// Puts together what the ranks have, in their order.
ModelState gathered(const std::vector<StateShard>& ranks);

}  // namespace plait
