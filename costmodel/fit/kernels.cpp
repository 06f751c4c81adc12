#include "costmodel/fit/kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/sha256.h"
#include "costmodel/costmodel.h"
#include "costmodel/fit/gaussian_process.h"
#include "costmodel/fit/judgement.h"
#include "costmodel/fit/linear.h"
#include "costmodel/fit/measured_times.h"
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
double log_error(const KernelFit& fit, const KernelTimes& row) {
  return fit.missed.value(kernel_sizes(row.op)) - log_missed(row);
}

/// Of one class, by the ops' hashes.
struct MeasuredOps {
  MeasuredTimes<std::string> times;
  std::map<std::string, Compute> ops;
};

/// Three rows of ten are judged: those with the smallest hashes. A shape stays on its side whatever
/// it took, and in whatever order it was measured.
constexpr double kHeldOut = 0.3;

KernelRows split(const MeasuredOps& rows, const Device* gpu) {
  const auto held_out = static_cast<std::size_t>(kHeldOut * static_cast<double>(rows.ops.size()));
  KernelRows out;
  for (const auto& [hash, seconds] : rows.times.medians()) {
    const Compute& op = rows.ops.at(hash);
    auto& side = out.held_out.size() < held_out ? out.held_out : out.fitted;
    const std::vector<double> features =
        gpu == nullptr ? kernel_features(op) : gpu_features(op, *gpu);
    side.push_back({{features, seconds}, op});
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
  Judgement judgement(name);
  for (const KernelTimes& row : rows.fitted) judgement.add_fitted(log_error(fit, row));
  for (const KernelTimes& row : rows.held_out)
    judgement.add_held_out(log_error(fit, row), [&] { return to_json(row.op); });
  FitQuality out = judgement.quality();
  out.data_sheet_error = data_sheet_error(rows.held_out, gpu);
  return out;
}

}  // namespace

void fit_kernels(const std::vector<Row>& rows, const Device* gpu, CalibrationResult& result) {
  if (gpu != nullptr && !has_gpu_features(*gpu)) gpu = nullptr;
  std::map<std::string, MeasuredOps> classes;
  for (const Row& row : rows) {
    const auto* kernel = std::get_if<KernelRow>(&row);
    if (kernel == nullptr) continue;
    MeasuredOps& measured = classes[kernel_class(kernel->op)];
    const std::string hash = sha256(to_json(kernel->op));
    measured.ops[hash] = kernel->op;
    measured.times.add(hash, kernel->cpu.median);
  }
  std::vector<std::string> unjudged;
  for (const auto& [name, of_class] : classes) {
    KernelRows parts = split(of_class, gpu);
    KernelFit fit = fit_of(name, gpu, parts);
    const FitQuality quality = quality_of(name, fit, parts, gpu);
    fit.fitted_rows = quality.fitted_rows, fit.held_out_rows = quality.held_out_rows;
    fit.fitted_error = quality.fitted_error, fit.held_out_error = quality.held_out_error;
    result.quality.push_back(quality);
    if (fit.held_out_rows == 0) unjudged.push_back(name);
    result.calibration.kernels[name] = fit;
  }
  if (unjudged.empty()) return;
  const std::string all = fmt::format("{}", fmt::join(unjudged, ", "));
  result.warnings.push_back({"W004", unjudged.size() == 1
                                         ? fmt::format("{} has no row to be judged by", all)
                                         : fmt::format("{} classes have no row to be judged by: {}",
                                                       unjudged.size(), all)});
}

}  // namespace plait
