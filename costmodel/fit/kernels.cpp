#include "costmodel/fit/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/sha256.h"
#include "costmodel/fit/linear.h"
#include "costmodel/kernel_features.h"
#include "model/op_json.h"

namespace plait {
namespace {

struct KernelRows {
  std::vector<FitRow> fitted, held_out;
  std::vector<std::string> held_out_ops;
};

double mean_error(const std::vector<double>& coefficients, const std::vector<FitRow>& rows) {
  double sum = 0;
  for (const FitRow& r : rows) sum += std::abs(log_error(coefficients, r));
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

/// An op with its times in all rounds and files.
struct Measured {
  Compute op;
  std::vector<double> seconds;

  double median() const {
    std::vector<double> sorted = seconds;
    std::ranges::sort(sorted);
    return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  }
};
/// Ops of one class by their hash.
using ByHash = std::map<std::string, Measured>;

/// Three rows of ten are judged: those with the smallest hashes. A shape stays on its side whatever
/// it took, and in whatever order it was measured.
constexpr double kHeldOut = 0.3;

KernelRows split(const ByHash& rows) {
  const auto held_out = static_cast<std::size_t>(kHeldOut * static_cast<double>(rows.size()));
  KernelRows out;
  for (const auto& [hash, measured] : rows) {
    const FitRow fit_row{kernel_features(measured.op), measured.median()};
    if (out.held_out.size() < held_out) {
      out.held_out.push_back(fit_row), out.held_out_ops.push_back(to_json(measured.op));
    } else {
      out.fitted.push_back(fit_row);
    }
  }
  return out;
}

/// The features that are one function of the width (costmodel/kernel_features.h).
Smooth by_width(const std::string& kernel_class) {
  const auto names = feature_names(kernel_class.substr(0, kernel_class.find('.')));
  const auto is_one = [](std::string_view name) { return name.starts_with("elements_"); };
  const auto first = std::ranges::find_if(names, is_one);
  const auto last = std::find_if_not(first, names.end(), is_one);
  return {static_cast<std::size_t>(first - names.begin()),
          static_cast<std::size_t>(last - names.begin())};
}

KernelFit fit_of(const std::string& kernel_class, const KernelRows& rows) {
  KernelFit fit;
  fit.coefficients = fit_nonnegative(rows.fitted, by_width(kernel_class));
  fit.least = fit.most = rows.fitted.front().features;
  for (const FitRow& r : rows.fitted) {
    for (std::size_t j = 0; j < r.features.size(); ++j) {
      fit.least[j] = std::min(fit.least[j], r.features[j]);
      fit.most[j] = std::max(fit.most[j], r.features[j]);
    }
  }
  fit.fitted_error = mean_error(fit.coefficients, rows.fitted);
  fit.held_out_error = mean_error(fit.coefficients, rows.held_out);
  fit.fitted_rows = static_cast<std::int64_t>(rows.fitted.size());
  fit.held_out_rows = static_cast<std::int64_t>(rows.held_out.size());
  return fit;
}

FitQuality quality_of(const std::string& name, const KernelFit& fit, const KernelRows& rows) {
  FitQuality out;
  out.name = name;
  out.fitted_rows = fit.fitted_rows, out.held_out_rows = fit.held_out_rows;
  out.fitted_error = fit.fitted_error, out.held_out_error = fit.held_out_error;
  for (std::size_t i = 0; i < rows.held_out.size(); ++i) {
    const double error = std::abs(log_error(fit.coefficients, rows.held_out[i]));
    if (error < out.worst_error) continue;
    out.worst_error = error, out.worst = rows.held_out_ops[i];
  }
  return out;
}

}  // namespace

void fit_kernels(const std::vector<Row>& rows, CalibrationResult& result) {
  std::map<std::string, ByHash> classes;
  for (const Row& row : rows) {
    const auto* kernel = std::get_if<KernelRow>(&row);
    if (kernel == nullptr) continue;
    if (!(kernel->cpu.median > 0)) continue;  // below the resolution of the clock
    Measured& measured = classes[kernel_class(kernel->op)][sha256(to_json(kernel->op))];
    measured.op = kernel->op;
    measured.seconds.push_back(kernel->cpu.median);
  }
  for (const auto& [name, of_class] : classes) {
    const KernelRows parts = split(of_class);
    const KernelFit fit = fit_of(name, parts);
    result.quality.push_back(quality_of(name, fit, parts));
    if (fit.held_out_rows == 0) {
      result.warnings.push_back(fmt::format("W004: {} has no row to be judged by", name));
    }
    result.calibration.kernels[name] = fit;
  }
}

}  // namespace plait
