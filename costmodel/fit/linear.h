#pragma once
// Fits times that are sums of work:
//   given    rows of features f_ij >= 0, known parts k_i >= 0 and measured times t_i
//   find     coefficients c_j >= 0 that minimise  sum_i log((k_i + sum_j c_j f_ij) / t_i)^2
// so that an error of a factor counts the same for short and long times.

#include <cstddef>
#include <vector>

namespace plait {

struct FitRow {
  std::vector<double> features;
  double seconds = 0;
  double known = 0;
};

/// Features [first, last) whose coefficients are values of one function at neighbouring places. The
/// fit adds w^2 log(c_j / c_j+1)^2 for each pair, w = 0.1: a neighbour twice as large costs as much
/// as one row that is 7 % off. So a place that few rows know, or none, is like its neighbours.
struct Smooth {
  std::size_t first = 0, last = 0;
};

/// Starts from the non-negative solution of the linear problem sum_i (sum_j c_j f_ij / t_i - 1)^2,
/// then Levenberg-Marquardt on log c. Every row needs a time above zero and a first feature above
/// zero; there is at least one row. Features that are zero in all rows get the coefficient zero
/// unless they are smooth.
std::vector<double> fit_nonnegative(const std::vector<FitRow>& rows, Smooth smooth = {});

double predicted_seconds(const std::vector<double>& coefficients,
                         const std::vector<double>& features);

/// log(predicted / measured).
double log_error(const std::vector<double>& coefficients, const FitRow& row);

}  // namespace plait
