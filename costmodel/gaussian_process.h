#pragma once
// What a fitted form leaves, as a smooth function of an op's sizes: a Gaussian process (Rasmussen
// and Williams 2006, chapter 2) over the logarithms of the sizes, with the Matern covariance of
// order 3/2 (section 4.2),
//   k(x, y) = s^2 (1 + r) exp(-r),   r^2 = 3 sum_d ((x_d - y_d) / l_d)^2
// Near measured sizes it follows them, as far as noise lets it; far away it goes back to its mean,
// so that there the form alone says how the time grows.

#include <vector>

namespace plait {

struct GaussianProcess {
  std::vector<double> lengths;  // l of each coordinate, in logarithms
  double scale = 0;             // s
  double mean = 0;
  /// Logarithms of the measured sizes, as many each as there are lengths; no points: zero
  /// everywhere.
  std::vector<std::vector<double>> points;
  std::vector<double> weights;  // of the points: (K + noise^2)^-1 (y - mean)

  /// Sizes above zero.
  double value(const std::vector<double>& sizes) const;
};

/// k of two points, both in logarithms.
double covariance(const GaussianProcess& process, const std::vector<double>& x,
                  const std::vector<double>& y);

}  // namespace plait
