#include "costmodel/fit/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/sha256.h"
#include "costmodel/costmodel.h"
#include "costmodel/fit/gaussian_process.h"
#include "costmodel/fit/linear.h"
#include "costmodel/gpu_features.h"
#include "costmodel/kernel_features.h"
#include "model/op_json.h"

namespace plait {
namespace {

struct KernelTimes {
  FitRow time;
  Compute op;
  double form = 0;  // seconds, without what it misses
};
struct KernelRows {
  std::vector<KernelTimes> fitted, held_out;
};

double log_missed(const KernelTimes& row) { return std::log(row.time.seconds / row.form); }
double error(const KernelFit& fit, const KernelTimes& row) {
  return std::abs(fit.missed.value(kernel_sizes(row.op)) - log_missed(row));
}
double mean_error(const KernelFit& fit, const std::vector<KernelTimes>& rows) {
  double sum = 0;
  for (const KernelTimes& r : rows) sum += error(fit, r);
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

KernelRows split(const ByHash& rows, const Device* gpu) {
  const auto held_out = static_cast<std::size_t>(kHeldOut * static_cast<double>(rows.size()));
  KernelRows out;
  for (const auto& [hash, measured] : rows) {
    const Compute& op = measured.op;
    auto& side = out.held_out.size() < held_out ? out.held_out : out.fitted;
    const std::vector<double> features =
        gpu == nullptr ? kernel_features(op) : gpu_features(op, *gpu);
    side.push_back({{features, measured.median()}, op});
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

/// Sets the rows' forms and returns the coefficients.
std::vector<double> fit_form(Smooth smooth, KernelRows& rows) {
  std::vector<FitRow> times;
  for (const KernelTimes& r : rows.fitted) times.push_back(r.time);
  std::vector<double> coefficients = fit_nonnegative(times, smooth);
  for (auto* side : {&rows.fitted, &rows.held_out}) {
    for (KernelTimes& r : *side) r.form = predicted_seconds(coefficients, r.time.features);
  }
  return coefficients;
}

KernelFit fit_of(const std::string& kernel_class, const Device* gpu, KernelRows& rows) {
  KernelFit fit;
  fit.on_gpu = gpu != nullptr && !gpu_features_of(kernel_class).empty();
  fit.coefficients = fit_form(fit.on_gpu ? Smooth{} : by_width(kernel_class), rows);
  std::vector<Missed> missed;
  for (const KernelTimes& r : rows.fitted) missed.push_back({kernel_sizes(r.op), log_missed(r)});
  fit.missed = fit_gaussian_process(missed);
  fit.least = fit.most = rows.fitted.front().time.features;
  for (const KernelTimes& r : rows.fitted) {
    for (std::size_t j = 0; j < r.time.features.size(); ++j) {
      fit.least[j] = std::min(fit.least[j], r.time.features[j]);
      fit.most[j] = std::max(fit.most[j], r.time.features[j]);
    }
  }
  fit.fitted_error = mean_error(fit, rows.fitted);
  fit.held_out_error = mean_error(fit, rows.held_out);
  fit.fitted_rows = static_cast<std::int64_t>(rows.fitted.size());
  fit.held_out_rows = static_cast<std::int64_t>(rows.held_out.size());
  return fit;
}

std::optional<double> data_sheet_error(const std::vector<KernelTimes>& rows, const Device* gpu) {
  if (gpu == nullptr || rows.empty()) return std::nullopt;
  double sum = 0;
  for (const KernelTimes& r : rows)
    sum += std::abs(std::log(CostModel{}.compute(r.op, *gpu).total().value / r.time.seconds));
  return sum / static_cast<double>(rows.size());
}

FitQuality quality_of(const std::string& name, const KernelFit& fit, const KernelRows& rows,
                      const Device* gpu) {
  FitQuality out;
  out.name = name;
  out.fitted_rows = fit.fitted_rows, out.held_out_rows = fit.held_out_rows;
  out.fitted_error = fit.fitted_error, out.held_out_error = fit.held_out_error;
  out.data_sheet_error = data_sheet_error(rows.held_out, gpu);
  for (const KernelTimes& row : rows.held_out) {
    const double missed = error(fit, row);
    if (missed < out.worst_error) continue;
    out.worst_error = missed, out.worst = to_json(row.op);
  }
  return out;
}

}  // namespace

void fit_kernels(const std::vector<Row>& rows, const Device* gpu, CalibrationResult& result) {
  if (gpu != nullptr && !has_gpu_features(*gpu)) gpu = nullptr;
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
    KernelRows parts = split(of_class, gpu);
    const KernelFit fit = fit_of(name, gpu, parts);
    result.quality.push_back(quality_of(name, fit, parts, gpu));
    if (fit.held_out_rows == 0) {
      result.warnings.push_back(fmt::format("W004: {} has no row to be judged by", name));
    }
    result.calibration.kernels[name] = fit;
  }
}

}  // namespace plait
