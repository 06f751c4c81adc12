#pragma once
// From measured durations of the experts of a layer to the constants of costmodel/served_experts.h,
// with robust logarithmic loss. A duration is that of all that comes between the choice of experts
// and the sum of what they return: tokens to their slots, both products, the activation between
// them, for 8-bit and 4-bit products the casts of both inputs, and the sum.

#include <vector>

#include "costmodel/gemm_fits.h"

namespace plait {

struct ExpertsRow {
  std::vector<Compute> ops;  // of which two are products
  Seconds time;
};

/// What the products leave to the others is as the cost model has it.
TiledGemm fit_experts(const std::vector<ExpertsRow>& rows, const Device& device,
                      const TiledGemm& start);

/// Time of a row.
Seconds predicted(const TiledGemm& fit, const ExpertsRow& row, const Device& device);

}  // namespace plait
