#pragma once
// Offload: training state that lives in host memory or on drives between its uses (ZeRO-Offload,
// Ren et al. 2021, arXiv 2101.06840; ZeRO-Infinity, Rajbhandari et al. 2021, arXiv 2104.07857;
// FSDP's CPU offload). The finished plan is rewritten: tensors move, what the device needs of them
// is copied to it, what it makes of them is copied back, each on a stream of its own, and Adam is
// an op on tensors of the host. docs/strategies/offload.md has the picture and the formulas.

#include "plan/strategies/draft.h"

namespace plait {

/// offload_state.cpp: gradients, optimizer and parameters.
void offload_state(Draft& draft);
/// offload_activations.cpp: what layers keep for their backward passes.
void offload_activations(Draft& draft);

/// A copy between two places; fit_sizes fills in the rest of it.
inline Op copy_op(Stream stream, Phase phase, Operand from, Operand to) {
  return {Copy{}, stream, phase, {from, to}};
}

/// The draft's tensor again in another place.
inline TensorId add_twin(Draft& draft, TensorId of, const char* suffix, Place place,
                         bool persistent) {
  Tensor t = draft.tensors[of];
  t.name += suffix, t.place = place, t.persistent = persistent;
  return draft.add(std::move(t));
}

}  // namespace plait
