#pragma once
// From measured durations of PyTorch's kernels over rows (reports/gpu/*/torch-rows.json) to the
// constants of costmodel/torch_rows.h, with robust logarithmic loss.

#include <vector>

#include "costmodel/torch_rows.h"

namespace plait {

template <class Op>
struct TorchRow {
  Op op;
  Device device;
  Seconds time;
};

/// All constants but the number of operands.
TorchNorm fit_torch_norm(const std::vector<TorchRow<Norm>>& rows, const TorchNorm& start);
TorchSum fit_torch_parameters(const std::vector<TorchRow<Norm>>& rows, const TorchSum& start);
TorchSum fit_torch_row_sum(const std::vector<TorchRow<BiasGrad>>& rows, const TorchSum& start);

}  // namespace plait
