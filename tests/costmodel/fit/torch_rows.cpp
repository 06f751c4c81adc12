#include "tests/costmodel/fit/torch_rows.h"

#include "tests/costmodel/fit/robust.h"

namespace plait {
namespace {

/// Moves `constants`, which `time`(op, device) depends on.
template <class Op, class Time>
void fit(const std::vector<TorchRow<Op>>& rows, const std::vector<Constant>& constants,
         Time&& time) {
  fit_times(constants, rows,
            [&](const TorchRow<Op>& row) { return time(row.op, row.device).total(); });
}

std::vector<Constant> constants_of(TorchSum& sum) {
  return {{&sum.fixed_us, 0}, {&sum.row, 0}, {&sum.bandwidth, 1}};
}

}  // namespace

TorchNorm fit_torch_norm(const std::vector<TorchRow<Norm>>& rows, const TorchNorm& start) {
  TorchNorm norm = start;
  fit(rows, {{&norm.fixed_us, 0}, {&norm.row, 0}, {&norm.element, 0}, {&norm.bandwidth, 1}},
      [&](const Norm& op, const Device& device) { return norm_time(norm, op, device); });
  return norm;
}

TorchSum fit_torch_parameters(const std::vector<TorchRow<Norm>>& rows, const TorchSum& start) {
  TorchSum sum = start;
  fit(rows, constants_of(sum),
      [&](const Norm& op, const Device& device) { return parameters_time(sum, op, device); });
  return sum;
}

TorchSum fit_torch_row_sum(const std::vector<TorchRow<BiasGrad>>& rows, const TorchSum& start) {
  TorchSum sum = start;
  fit(rows, constants_of(sum),
      [&](const BiasGrad& op, const Device& device) { return row_sum_time(sum, op, device); });
  return sum;
}

}  // namespace plait
