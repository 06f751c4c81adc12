#pragma once
// Products measured on a grid of m, n and k, as a correction of the model: between grid points
// log(measured / predicted) is linear in log m, log n and log k, beyond the grid it is that of the
// nearest point of its surface. So the model's form decides how the time grows outside of the grid,
// and where the grid ends there is no step.

#include <functional>
#include <vector>

#include "costmodel/cost.h"
#include "model/op.h"

namespace plait {

struct GemmTable {
  std::vector<double> m, n, k;       // ascending, at least one value each
  std::vector<double> log_residual;  // [m][n][k], one after another

  /// Factor on the predicted time of a product of these sizes.
  double factor(const MatMul& op) const;
};

/// `measured(m, n, k)` is the time of a product on a grid point, `predicted(m, n, k)` the model's.
using GemmTimes = std::function<Seconds(double m, double n, double k)>;
GemmTable gemm_table(std::vector<double> m, std::vector<double> n, std::vector<double> k,
                     const GemmTimes& measured, const GemmTimes& predicted);

/// `cost` with all shares multiplied by the table's factor; measured within the grid, extrapolated
/// outside of it.
Cost corrected(const Cost& cost, const MatMul& op, const GemmTable& table);

}  // namespace plait
