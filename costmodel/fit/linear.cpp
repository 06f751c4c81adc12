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
/// time, and a column of zeros is left out.
struct Scaled {
  MatrixXd shares;
  std::vector<double> scale;    // of the columns that stayed
  std::vector<std::size_t> of;  // their features
};

Scaled scaled(const std::vector<FitRow>& rows) {
  Scaled out;
  const std::size_t features = rows.front().features.size();
  for (std::size_t j = 0; j < features; ++j) {
    double sum = 0;
    for (const FitRow& r : rows) sum += r.features.at(j) / r.seconds;
    if (sum <= 0) continue;
    out.of.push_back(j);
    out.scale.push_back(static_cast<double>(rows.size()) / sum);
  }
  out.shares.resize(static_cast<Index>(rows.size()), static_cast<Index>(out.of.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < out.of.size(); ++j) {
      out.shares(static_cast<Index>(i), static_cast<Index>(j)) =
          rows[i].features[out.of[j]] / rows[i].seconds * out.scale[j];
    }
  }
  return out;
}

/// Non-negative least squares of A x = 1 by coordinate descent, which converges for this convex
/// problem (Franc, Hlavac and Navara 2005, Sequential coordinate-wise algorithm for NNLS).
VectorXd start_of(const MatrixXd& a) {
  constexpr int kSweeps = 2000;
  const MatrixXd gram = a.transpose() * a;
  const VectorXd target = a.transpose() * VectorXd::Ones(a.rows());
  VectorXd x = VectorXd::Constant(a.cols(), 1.0 / static_cast<double>(a.cols()));
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (Index j = 0; j < a.cols(); ++j) {
      const double slope = gram.row(j).dot(x) - target(j);
      x(j) = std::max(0.0, x(j) - slope / gram(j, j));
    }
  }
  return x;
}

/// Residuals log(A e^theta) and their derivatives, as Eigen's solver wants them. Its algorithm
/// needs as many residuals as unknowns; missing ones are zero.
struct LogResiduals {
  const MatrixXd& a;
  int inputs() const { return static_cast<int>(a.cols()); }
  int values() const { return static_cast<int>(std::max(a.rows(), a.cols())); }
  int operator()(const VectorXd& theta, VectorXd& residuals) const {
    residuals.setZero();
    residuals.head(a.rows()) = (a * theta.array().exp().matrix()).array().log();
    return 0;
  }
  int df(const VectorXd& theta, MatrixXd& jacobian) const {
    const VectorXd c = theta.array().exp();
    const VectorXd sums = a * c;
    jacobian.setZero();
    for (Index j = 0; j < a.cols(); ++j) {
      jacobian.col(j).head(a.rows()) = a.col(j).array() * c(j) / sums.array();
    }
    return 0;
  }
};

}  // namespace

std::vector<double> fit_nonnegative(const std::vector<FitRow>& rows) {
  PLAIT_CHECK(!rows.empty(), "a fit to nothing");
  const Scaled problem = scaled(rows);
  // A share below a millionth of the time cannot be measured, and its logarithm has no bottom.
  constexpr double kLeastShare = 1e-6;
  VectorXd theta = start_of(problem.shares).array().max(kLeastShare).log();
  LogResiduals residuals{problem.shares};
  Eigen::LevenbergMarquardt<LogResiduals> solver(residuals);
  solver.parameters.maxfev = 2000;
  solver.minimize(theta);
  std::vector<double> out(rows.front().features.size(), 0.0);
  for (std::size_t j = 0; j < problem.of.size(); ++j) {
    const double share = std::exp(theta(static_cast<Index>(j)));
    out[problem.of[j]] = share > kLeastShare ? share * problem.scale[j] : 0;
  }
  return out;
}

double predicted_seconds(const std::vector<double>& coefficients,
                         const std::vector<double>& features) {
  return std::inner_product(coefficients.begin(), coefficients.end(), features.begin(), 0.0);
}

double log_error(const std::vector<double>& coefficients, const FitRow& row) {
  return std::log(predicted_seconds(coefficients, row.features) / row.seconds);
}

}  // namespace plait
