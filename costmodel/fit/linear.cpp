#include "costmodel/fit/linear.h"

// Eigen's headers have their own ideas of conversions; they are not ours to mend.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <unsupported/Eigen/NonLinearOptimization>

#include "core/error.h"

namespace plait {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Rows f_ij / t_i, each column scaled to a mean of one: then all coefficients are shares of the
/// time. A column of zeros is left out, or scaled as its smooth neighbours on average.
struct Scaled {
  MatrixXd shares;
  VectorXd known;                  // k_i / t_i
  std::vector<double> scale;       // of the columns that stayed
  std::vector<std::size_t> of;     // their features
  std::vector<Index> smooth_with;  // of each column but the last: smooth with the next one
};

bool is_in(Smooth smooth, std::size_t j) { return j >= smooth.first && j < smooth.last; }

/// Factor that brings each feature to a mean of one; 0 for those to be left out.
std::vector<double> scales(const std::vector<FitRow>& rows, Smooth smooth) {
  std::vector<double> out;
  double log_sum = 0;
  int known = 0;
  for (std::size_t j = 0; j < rows.front().features.size(); ++j) {
    double sum = 0;
    for (const FitRow& r : rows) sum += r.features.at(j) / r.seconds;
    out.push_back(sum > 0 ? static_cast<double>(rows.size()) / sum : 0);
    if (sum > 0 && is_in(smooth, j)) log_sum += std::log(out.back()), ++known;
  }
  for (std::size_t j = smooth.first; j < smooth.last && known > 0; ++j) {
    if (out[j] <= 0) out[j] = std::exp(log_sum / known);
  }
  return out;
}

Scaled scaled(const std::vector<FitRow>& rows, Smooth smooth) {
  Scaled out;
  const std::vector<double> scale = scales(rows, smooth);
  for (std::size_t j = 0; j < scale.size(); ++j) {
    if (scale[j] <= 0) continue;
    if (is_in(smooth, j) && j + 1 < smooth.last && scale[j + 1] > 0) {
      out.smooth_with.push_back(static_cast<Index>(out.of.size()));
    }
    out.of.push_back(j), out.scale.push_back(scale[j]);
  }
  out.shares.resize(static_cast<Index>(rows.size()), static_cast<Index>(out.of.size()));
  out.known.resize(static_cast<Index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.known(static_cast<Index>(i)) = rows[i].known / rows[i].seconds;
    for (std::size_t j = 0; j < out.of.size(); ++j) {
      out.shares(static_cast<Index>(i), static_cast<Index>(j)) =
          rows[i].features[out.of[j]] / rows[i].seconds * out.scale[j];
    }
  }
  return out;
}

/// Non-negative least squares of A x = b by coordinate descent, which converges for this convex
/// problem (Franc, Hlavac and Navara 2005, Sequential coordinate-wise algorithm for NNLS).
VectorXd start_of(const MatrixXd& a, const VectorXd& b) {
  constexpr int kSweeps = 2000;
  const MatrixXd gram = a.transpose() * a;
  const VectorXd target = a.transpose() * b;
  VectorXd x = VectorXd::Constant(a.cols(), 1.0 / static_cast<double>(a.cols()));
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (Index j = 0; j < a.cols(); ++j) {
      if (gram(j, j) <= 0) continue;  // no row knows it
      const double slope = gram.row(j).dot(x) - target(j);
      x(j) = std::max(0.0, x(j) - slope / gram(j, j));
    }
  }
  return x;
}

/// Residuals log(k + A e^theta), then those of smoothness, and their derivatives, as Eigen's solver
/// wants them. Its algorithm needs as many residuals as unknowns; missing ones are zero.
struct LogResiduals {
  static constexpr double kWeight = 0.1;  // of smoothness
  const Scaled& problem;
  int inputs() const { return static_cast<int>(problem.shares.cols()); }
  int values() const {
    const Index all = problem.shares.rows() + static_cast<Index>(problem.smooth_with.size());
    return static_cast<int>(std::max(all, problem.shares.cols()));
  }
  int operator()(const VectorXd& theta, VectorXd& residuals) const {
    const MatrixXd& a = problem.shares;
    residuals.setZero();
    residuals.head(a.rows()) = (problem.known + a * theta.array().exp().matrix()).array().log();
    Index row = a.rows();
    for (const Index j : problem.smooth_with) {
      const auto k = static_cast<std::size_t>(j);
      residuals(row++) =
          kWeight * (theta(j) - theta(j + 1) + std::log(problem.scale[k] / problem.scale[k + 1]));
    }
    return 0;
  }
  int df(const VectorXd& theta, MatrixXd& jacobian) const {
    const MatrixXd& a = problem.shares;
    const VectorXd c = theta.array().exp();
    const VectorXd sums = problem.known + a * c;
    jacobian.setZero();
    for (Index j = 0; j < a.cols(); ++j) {
      jacobian.col(j).head(a.rows()) = a.col(j).array() * c(j) / sums.array();
    }
    Index row = a.rows();
    for (const Index j : problem.smooth_with) {
      jacobian(row, j) = kWeight, jacobian(row, j + 1) = -kWeight;
      ++row;
    }
    return 0;
  }
};

}  // namespace

std::vector<double> fit_nonnegative(const std::vector<FitRow>& rows, Smooth smooth) {
  PLAIT_CHECK(!rows.empty(), "a fit to nothing");
  const Scaled problem = scaled(rows, smooth);
  // A share below a millionth of the time cannot be measured, and its logarithm has no bottom.
  constexpr double kLeastShare = 1e-6;
  VectorXd theta = start_of(problem.shares, VectorXd::Ones(problem.known.size()) - problem.known)
                       .array()
                       .max(kLeastShare)
                       .log();
  LogResiduals residuals{problem};
  Eigen::LevenbergMarquardt<LogResiduals> solver(residuals);
  solver.parameters.maxfev = 2000;
  solver.minimize(theta);
  std::vector<double> out(rows.front().features.size(), 0.0);
  for (std::size_t j = 0; j < problem.of.size(); ++j) {
    const double share = std::exp(theta(static_cast<Index>(j)));
    const bool counts = share > kLeastShare || is_in(smooth, problem.of[j]);
    out[problem.of[j]] = counts ? share * problem.scale[j] : 0;
  }
  return out;
}

double predicted_seconds(const std::vector<double>& coefficients,
                         const std::vector<double>& features) {
  return std::inner_product(coefficients.begin(), coefficients.end(), features.begin(), 0.0);
}

double log_error(const std::vector<double>& coefficients, const FitRow& row) {
  return std::log((row.known + predicted_seconds(coefficients, row.features)) / row.seconds);
}

}  // namespace plait
