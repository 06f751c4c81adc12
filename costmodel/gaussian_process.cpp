#include "costmodel/gaussian_process.h"

#include <cmath>

namespace plait {

double covariance(const GaussianProcess& process, const std::vector<double>& x,
                  const std::vector<double>& y) {
  double squares = 0;
  for (std::size_t d = 0; d < process.lengths.size(); ++d) {
    const double apart = (x[d] - y[d]) / process.lengths[d];
    squares += apart * apart;
  }
  const double r = std::sqrt(3 * squares);
  return process.scale * process.scale * (1 + r) * std::exp(-r);
}

double GaussianProcess::value(const std::vector<double>& sizes) const {
  if (points.empty()) return 0;
  std::vector<double> at;
  for (const double size : sizes) at.push_back(std::log(size));
  double sum = mean;
  for (std::size_t i = 0; i < points.size(); ++i)
    sum += weights[i] * covariance(*this, at, points[i]);
  return sum;
}

}  // namespace plait
