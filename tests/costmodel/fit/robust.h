#pragma once
// Fits times that are any function of their constants:
//   given    positive constants x to start from, and the errors e_i(x) = log(predicted / measured)
//   find     x that minimises  sum_i w_i rho(e_i),  rho(e) = sqrt(1 + (e / s)^2) - 1
// Errors above s = 0.06, the noise between laboratories, count by their size and not its square, so
// that a few strange kernels do not move the constants of all the others.

#include <cmath>
#include <functional>
#include <vector>

namespace plait {

/// One of the constants, where it stands.
struct Constant {
  double* at = nullptr;
  double most = 0;  // upper bound; 0: none
};

/// Levenberg-Marquardt on log x with reweighting and differences for derivatives: moves the
/// constants from what they are to what fits. One may start on its bound. `errors` fills its
/// argument by the constants as they are when it is called; `weights` has as many entries.
void fit_robust(const std::vector<Constant>& constants, const std::vector<double>& weights,
                const std::function<void(std::vector<double>&)>& errors);

/// Of rows with a measured `time`; predicted(row) is by the constants as they are.
template <class Row, class Predicted>
void fit_times(const std::vector<Constant>& constants, const std::vector<Row>& rows,
               const std::vector<double>& weights, Predicted&& predicted) {
  fit_robust(constants, weights, [&](std::vector<double>& errors) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      errors[i] = std::log(predicted(rows[i]) / rows[i].time);
  });
}
/// Of rows that weigh the same.
template <class Row, class Predicted>
void fit_times(const std::vector<Constant>& constants, const std::vector<Row>& rows,
               Predicted&& predicted) {
  fit_times(constants, rows, std::vector<double>(rows.size(), 1), predicted);
}

}  // namespace plait
