#include "costmodel/gemm_table.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace plait {
namespace {

/// Place on an axis: index of the point below and how far it is to the next, 0 to 1.
struct TablePlace {
  std::size_t below = 0;
  double above = 0;
};
TablePlace place(const std::vector<double>& axis, double value) {
  if (axis.size() < 2 || value <= axis.front()) return {};
  if (value >= axis.back()) return {axis.size() - 2, 1};
  const auto next = std::ranges::upper_bound(axis, value);
  const double low = *(next - 1);
  return {static_cast<std::size_t>(next - axis.begin()) - 1,
          std::log(value / low) / std::log(*next / low)};
}

bool inside(const std::vector<double>& axis, double value) {
  return value >= axis.front() && value <= axis.back();
}

}  // namespace

double GemmTable::factor(const MatMul& op) const {
  const TablePlace at[] = {place(m, static_cast<double>(op.m)), place(n, static_cast<double>(op.n)),
                           place(k, static_cast<double>(op.k))};
  double sum = 0;
  for (unsigned corner = 0; corner < 8; ++corner) {
    double weight = 1;
    std::size_t index[3] = {};
    for (unsigned axis = 0; axis < 3; ++axis) {
      const bool up = (corner >> axis & 1U) != 0;
      weight *= up ? at[axis].above : 1 - at[axis].above;
      index[axis] = at[axis].below + (up ? 1 : 0);
    }
    if (weight > 0)
      sum += weight * log_residual[(index[0] * n.size() + index[1]) * k.size() + index[2]];
  }
  return std::exp(sum);
}

GemmTable gemm_table(std::vector<double> m, std::vector<double> n, std::vector<double> k,
                     const GemmTimes& measured, const GemmTimes& predicted) {
  for (const auto* axis : {&m, &n, &k})
    PLAIT_CHECK(!axis->empty() && std::ranges::is_sorted(*axis), "axes ascend");
  GemmTable table{std::move(m), std::move(n), std::move(k), {}};
  for (double i : table.m)
    for (double j : table.n)
      for (double l : table.k)
        table.log_residual.push_back(std::log(measured(i, j, l) / predicted(i, j, l)));
  return table;
}

Cost corrected(const Cost& cost, const MatMul& op, const GemmTable& table) {
  Cost out = cost;
  const double factor = table.factor(op);
  for (Seconds& s : out.share) s *= factor;
  const bool known = inside(table.m, static_cast<double>(op.m)) &&
                     inside(table.n, static_cast<double>(op.n)) &&
                     inside(table.k, static_cast<double>(op.k));
  out.provenance = known ? Provenance::kMeasured : Provenance::kExtrapolated;
  return out;
}

}  // namespace plait
