#pragma once
// Layers whose weights are not on the device: the ops of a serving step moved to the host's
// processor, or fed by copies. An op on tensors in host memory is the processor's. Either waits for
// the other, as llama.cpp's and Accelerate's one thread does: all is on one stream.

#include <functional>

#include "plan/serving.h"
#include "plan/strategies/draft.h"

namespace plait {

/// Host memory's (or storage's) counterparts of tensors, made when first asked for.
class Twins {
 public:
  Twins(Draft& draft, Place place) : d_(draft), place_(place) {}
  TensorId of(TensorId tensor);

 private:
  Draft& d_;
  Place place_;
  std::vector<TensorId> twin_;  // by tensor; kNoTensor: none yet
};

/// The block with the ops that `chosen` accepts on the processor, on host memory. Weights, cache
/// and, where every op is chosen, the residual stream are there already; what else crosses over is
/// copied.
Block on_processor(Draft& draft, Twins& host, Block block,
                   const std::function<bool(const Op&)>& chosen);

/// All of `from`, copied to `to` on the other side of the host link.
Op copied(const Draft& draft, TensorId from, TensorId to);

/// The block with a copy of each weight to the device in front of the first op that `chosen`
/// accepts and that reads it, in the order of the device's work: nothing is fetched ahead
/// (Accelerate's AlignDevicesHook).
Block with_copied_weights(Draft& draft, Twins& home, Place place, Block block,
                          const std::function<bool(const Op&)>& chosen);

/// The block with a copy to the device of the keys and values that attention reads, in front of it:
/// of as many tokens as its sequences have.
Block with_copied_cache(Draft& draft, Twins& home, Block block);

/// Which ops of the block are its experts' own: what fills their slots, their products and the
/// activations between.
std::function<bool(const Op&)> ops_of_experts(const Draft& draft, const Block& block);

}  // namespace plait
