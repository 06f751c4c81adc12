#include "costmodel/fit/gaussian_process.h"

// Eigen's headers have their own ideas of conversions; they are not ours to mend.
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace plait {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::size_t kMostPoints = 400;
constexpr double kStartLength = 1.5;                          // a factor of 4.5
constexpr double kShortestLength = 0.3, kLongestLength = 30;  // of a length
constexpr double kLeastNoise = 0.003;                         // what the best clock leaves
constexpr double kLargestScale = 3;
constexpr double kFirstStep = 0.7, kLastStep = 0.05;  // of a logarithm
constexpr double kEnoughTold = 0.8;                   // of the mean's error at points left out
constexpr double kEnoughLikelier = 1e-3;              // of log likelihood

/// What is missed at a process's points, without its mean.
struct MissedPoints {
  VectorXd y;

  /// The lower triangle of K + noise^2.
  MatrixXd covariances(const GaussianProcess& process, double noise) const {
    const Index n = y.size();
    MatrixXd k = MatrixXd::Zero(n, n);
    for (Index i = 0; i < n; ++i) {
      const auto& x = process.points[static_cast<std::size_t>(i)];
      for (Index j = 0; j <= i; ++j)
        k(i, j) = covariance(process, x, process.points[static_cast<std::size_t>(j)]);
      k(i, i) += noise * noise;
    }
    return k;
  }
  /// Whether each point is told better by the others than by their mean: the error there is
  /// w_i / (K^-1)_ii (Rasmussen and Williams 2006, equation 5.12).
  bool tells_left_out(const GaussianProcess& process, double noise) const {
    const Index n = y.size();
    const Eigen::LLT<MatrixXd> factored(covariances(process, noise));
    const MatrixXd inverse = factored.solve(MatrixXd::Identity(n, n));
    double told = 0;
    for (Index i = 0; i < n; ++i)
      told += std::abs(process.weights[static_cast<std::size_t>(i)] / inverse(i, i));
    return told < kEnoughTold * y.array().abs().sum();
  }
  /// Minus the log likelihood but for a constant; sets the weights.
  double unlikelihood(GaussianProcess& process, double noise) const {
    const Eigen::LLT<MatrixXd> factored(covariances(process, noise));  // reads the lower triangle
    if (factored.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
    const VectorXd weights = factored.solve(y);
    process.weights.assign(weights.begin(), weights.end());
    return y.dot(weights) / 2 + factored.matrixLLT().diagonal().array().log().sum();
  }
};

struct Hypothesis {
  GaussianProcess process;
  double noise = 0, unlikelihood = 0;

  /// Constant `i` times `factor`: a length, the scale or the noise. False: it goes no further.
  bool move(std::size_t i, double factor) {
    const bool is_length = i < process.lengths.size();
    double& value = is_length                     ? process.lengths[i]
                    : i == process.lengths.size() ? process.scale
                                                  : noise;
    const double moved = std::clamp(value * factor, is_length ? kShortestLength : kLeastNoise,
                                    is_length ? kLongestLength : kLargestScale);
    return std::exchange(value, moved) != moved;
  }
};

Hypothesis likeliest(Hypothesis best, const MissedPoints& points) {
  best.unlikelihood = points.unlikelihood(best.process, best.noise);
  for (double step = kFirstStep; step >= kLastStep;) {
    bool better = false;
    for (std::size_t i = 0; i < best.process.lengths.size() + 2; ++i) {
      for (const double factor : {std::exp(step), std::exp(-step)}) {
        Hypothesis other = best;
        if (!other.move(i, factor)) continue;
        other.unlikelihood = points.unlikelihood(other.process, other.noise);
        if (other.unlikelihood > best.unlikelihood - kEnoughLikelier) continue;
        best = std::move(other), better = true;
      }
    }
    if (!better) step /= 2;
  }
  return best;
}

}  // namespace

GaussianProcess fit_gaussian_process(const std::vector<Missed>& missed) {
  if (missed.size() < kLeastMissed) return {};
  Hypothesis start;
  MissedPoints points;
  points.y.resize(static_cast<Index>(std::min(missed.size(), kMostPoints)));
  for (Index i = 0; i < points.y.size(); ++i) {
    const Missed& m = missed[static_cast<std::size_t>(i)];
    std::vector<double>& at = start.process.points.emplace_back();
    for (const double size : m.sizes) at.push_back(std::log(size));
    points.y(i) = m.log_ratio;
  }
  start.process.mean = points.y.mean();
  points.y.array() -= start.process.mean;
  start.process.lengths.assign(missed.front().sizes.size(), kStartLength);
  const double deviation = std::sqrt(points.y.squaredNorm() / static_cast<double>(points.y.size()));
  start.process.scale = start.noise = std::max(deviation / std::sqrt(2.0), kLeastNoise);
  const Hypothesis found = likeliest(std::move(start), points);
  if (missed.size() < kEnoughMissed && !points.tells_left_out(found.process, found.noise))
    return {};
  return found.process;
}

}  // namespace plait
