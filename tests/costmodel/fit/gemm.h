#pragma once
// From measured durations of products to the constants of costmodel/gemm_fits.h, with robust
// logarithmic loss.

#include <vector>

#include "costmodel/gemm_fits.h"

namespace plait {

struct GemmRow {
  MatMul op;
  Seconds time;
  /// Of the first operand, where an engine casts it beside the product: 2 bytes read and 1 (nvfp4:
  /// 9/16) written for each element. Plans have casts of their own, so that its time is fitted and
  /// left out.
  Bytes cast = {};
};

struct GemmResult {
  TiledGemm fit;
  double cast_us, cast_bandwidth;  // fixed time, fraction of the memory bandwidth
};

/// Rows count twice where the product is as large as those of training: m >= 512 and n, k >= 1024.
/// With casts the fixed time of the product itself stays: rows cannot tell it from the cast's.
GemmResult fit_gemm(const std::vector<GemmRow>& rows, const Device& device,
                    const GemmResult& start);

/// Time of a row, with its cast.
Seconds predicted(const GemmResult& result, const GemmRow& row, const Device& device);

}  // namespace plait
