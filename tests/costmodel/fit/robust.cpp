#include "tests/costmodel/fit/robust.h"

// Eigen's headers have their own ideas of conversions; they are not ours to mend.
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace plait {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kScale = 0.06;
constexpr double kStep = 0.01;    // of log x, for derivatives: over the steps of whole waves
constexpr double kLongest = 0.5;  // of log x in one iteration
constexpr int kIterations = 60, kTries = 8;
constexpr double kEnough = 1e-5;  // relative gain

struct Problem {
  const std::vector<Constant>& constants;
  const VectorXd weights;
  const std::function<void(std::vector<double>&)>& errors;

  void set(const VectorXd& theta) const {
    for (std::size_t j = 0; j < constants.size(); ++j) {
      const double value = std::exp(theta(static_cast<Index>(j)));
      *constants[j].at = constants[j].most > 0 ? std::min(value, constants[j].most) : value;
    }
  }
  VectorXd residuals(const VectorXd& theta) const {
    std::vector<double> out(static_cast<std::size_t>(weights.size()));
    set(theta);
    errors(out);
    return Eigen::Map<VectorXd>(out.data(), weights.size());
  }
  double loss(const VectorXd& r) const {
    return (weights.array() * ((1 + (r / kScale).array().square()).sqrt() - 1)).sum();
  }
  MatrixXd jacobian(const VectorXd& theta, const VectorXd& r) const {
    MatrixXd out(r.size(), theta.size());
    for (Index j = 0; j < theta.size(); ++j) {
      VectorXd moved = theta;
      moved(j) -= kStep;  // downwards: never over a bound
      out.col(j) = (r - residuals(moved)) / kStep;
    }
    return out;
  }
  /// Back onto the bounds.
  VectorXd bounded(VectorXd theta) const {
    for (std::size_t j = 0; j < constants.size(); ++j) {
      double& t = theta(static_cast<Index>(j));
      if (constants[j].most > 0) t = std::min(t, std::log(constants[j].most));
    }
    return theta;
  }
};

struct State {
  VectorXd theta, r;
  double loss, damping = 1e-2;
};

/// Whether a step was found that gains more than `kEnough`.
bool improve(const Problem& problem, State& state) {
  const MatrixXd j = problem.jacobian(state.theta, state.r);
  const VectorXd w = problem.weights.array() / (1 + (state.r / kScale).array().square()).sqrt();
  const MatrixXd normal = j.transpose() * w.asDiagonal() * j;
  const VectorXd slope = j.transpose() * w.cwiseProduct(state.r);
  for (int i = 0; i < kTries; ++i) {
    MatrixXd damped = normal;
    damped.diagonal() += state.damping * normal.diagonal();
    damped.diagonal().array() += 1e-9;
    const VectorXd step = damped.ldlt().solve(-slope).cwiseMax(-kLongest).cwiseMin(kLongest);
    const VectorXd theta = problem.bounded(state.theta + step);
    const VectorXd r = problem.residuals(theta);
    const double loss = problem.loss(r);
    if (loss < state.loss) {
      const bool more = state.loss - loss > kEnough * state.loss;
      state = {theta, r, loss, std::max(1e-6, state.damping / 4)};
      return more;
    }
    state.damping *= 5;
  }
  return false;
}

}  // namespace

void fit_robust(const std::vector<Constant>& constants, const std::vector<double>& weights,
                const std::function<void(std::vector<double>&)>& errors) {
  const Problem problem{
      constants, Eigen::Map<const VectorXd>(weights.data(), static_cast<Index>(weights.size())),
      errors};
  State state;
  state.theta.resize(static_cast<Index>(constants.size()));
  for (std::size_t j = 0; j < constants.size(); ++j)
    state.theta(static_cast<Index>(j)) = std::log(*constants[j].at);
  state.r = problem.residuals(state.theta);
  state.loss = problem.loss(state.r);
  for (int i = 0; i < kIterations && improve(problem, state); ++i) {
  }
  problem.set(state.theta);
}

}  // namespace plait
