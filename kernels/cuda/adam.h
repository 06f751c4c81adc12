#pragma once
// One step of Adam on the device: kernels/adam.h. The copy of the weights that compute reads, the
// master, and the gradient may each have their own type; moments and the norm are float.

#include "kernels/adam.h"
#include "kernels/cuda/queue.h"

namespace plait::kernels::cuda {

/// Updates master, first and second [elements] from gradient[elements] and rounds master to weight
/// unless that is null. `squared_norm` points to the square of the global gradient norm; null:
/// no clipping. For (W, M, G) = (bf16, float, float or bf16), (float, float, float or bf16) and
/// (bf16, bf16, float or bf16).
template <class W, class M, class G>
void adam(const Queue& q, W* weight, M* master, float* first, float* second, const G* gradient,
          const float* squared_norm, std::int64_t elements, const AdamSettings& settings);

}  // namespace plait::kernels::cuda
