#pragma once
// What matrices that are stored in nf4 start from: as other weights do, quantised
// (plan/strategies/nf4_weights.cpp).

#include <string>
#include <vector>

#include "plan/plan.h"

namespace plait {

/// Codes of a matrix's weights, and the scales of their blocks: in fp32, or nested, where `absmax`
/// has codes of 8 bits and `scales` what they are codes by.
struct StoredMatrix {
  std::vector<double> codes, absmax, scales;
};
StoredMatrix stored_matrix(const std::vector<double>& weights, bool nested);

/// The tensors of one matrix: its codes and scales, and what these are nested in.
struct Nf4Tensors {
  TensorId weight = kNoTensor, absmax = kNoTensor, scales = kNoTensor;
  bool nested() const { return scales != kNoTensor; }
};
std::vector<Nf4Tensors> nf4_tensors(const Plan& plan);

}  // namespace plait
