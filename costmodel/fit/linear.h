#pragma once
// Fits times that are sums of work:
//   given    rows of features f_ij >= 0 and measured times t_i
//   find     coefficients c_j >= 0 that minimise  sum_i log(sum_j c_j f_ij / t_i)^2
// so that an error of a factor counts the same for short and long times.

#include <vector>

namespace plait {

struct FitRow {
  std::vector<double> features;
  double seconds = 0;
};

/// Starts from the non-negative solution of the linear problem sum_i (sum_j c_j f_ij / t_i - 1)^2,
/// then Levenberg-Marquardt on log c. Every row needs a time above zero and a first feature above
/// zero; there is at least one row. Features that are zero in all rows get the coefficient zero.
std::vector<double> fit_nonnegative(const std::vector<FitRow>& rows);

double predicted_seconds(const std::vector<double>& coefficients,
                         const std::vector<double>& features);

/// log(predicted / measured).
double log_error(const std::vector<double>& coefficients, const FitRow& row);

}  // namespace plait
