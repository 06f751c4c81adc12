#pragma once
// From measured durations of products to the constants of costmodel/gemm_fits.h, with robust
// logarithmic loss.

#include <vector>

#include "costmodel/gemm_fits.h"

namespace plait {

struct GemmRow {
  MatMul op;
  Seconds time;
};

/// Rows count twice where the product is as large as those of training: m >= 512 and n, k >= 1024.
/// `start` says where to begin; a fit without a cast keeps having none, and one with a cast keeps
/// the fixed time of the product itself, which rows cannot tell from the cast's.
TiledGemm fit_gemm(const std::vector<GemmRow>& rows, const Device& device, const TiledGemm& start);

}  // namespace plait
