#pragma once
// One step of Adam (Kingma and Ba 2015, algorithm 1), after clipping of the global gradient norm
// (Pascanu et al. 2013, algorithm 1).

#include <cstdint>

namespace plait::kernels {

struct AdamSettings {
  std::int64_t step = 1;  // counts from 1
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double max_norm = 1;  // gradients are scaled down to this global norm
};

/// Updates master, first and second [elements] from gradient[elements] and copies master to weight
/// unless that is null. `squared_norm` points to the square of the global gradient norm; null:
/// no clipping.
template <class T>
void adam(T* weight, T* master, T* first, T* second, const T* gradient, const T* squared_norm,
          std::int64_t elements, const AdamSettings& settings);

}  // namespace plait::kernels
