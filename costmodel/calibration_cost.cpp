#include "costmodel/calibration_cost.h"

#include <algorithm>
#include <cmath>

#include "costmodel/gpu_features.h"
#include "costmodel/kernel_features.h"
#include "costmodel/kernels.h"

namespace plait {
namespace {

// The held-out error is a mean of |log|. Errors of a normal distribution exceed 2.5 times their
// mean absolute value in one case of twenty, and 2 times in one of nine.
constexpr double kBandPerError = 2;
// What is fitted is linear, so outside the measured sizes its form still holds; caches and blocking
// do not. Ours: as wide as the data sheet's own form, and not below 25 %. Nor is what no row
// judged.
constexpr double kExtrapolatedPerError = 5, kLeastExtrapolatedBand = 0.25;

/// Products with quantised weights were not measured.
bool is_quantised(const Compute& op) {
  const auto* product = std::get_if<MatMul>(&op);
  return product != nullptr && product->weights != WeightFormat::kPlain;
}

bool inside(const std::vector<double>& features, const KernelFit& fit) {
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (features[i] < fit.least[i] || features[i] > fit.most[i]) return false;
  }
  return true;
}

Cost cost_on_gpu(const std::string& kernel_class, const std::vector<double>& features,
                 const KernelFit& fit) {
  Cost cost;
  const auto named = gpu_features_of(kernel_class);
  for (std::size_t i = 0; i < features.size(); ++i)
    cost.share[named[i].spent_on] += Seconds(fit.coefficients[i] * features[i]);
  return cost;
}

Cost cost_of_features(const Compute& op, const std::vector<double>& features,
                      const KernelFit& fit) {
  Cost cost;
  Seconds& work = cost.share[uses_matrix_units(op) ? kPeakFlops : kMemoryBandwidth];
  for (std::size_t i = 1; i < features.size(); ++i)
    work += Seconds(fit.coefficients[i] * features[i]);
  cost.share[kLaunchOverhead] = Seconds(fit.coefficients[0]);
  return cost;
}

}  // namespace

std::optional<Cost> fitted_cost(const Compute& op, const Calibration& calibration,
                                const Device& device) {
  const auto found = calibration.kernels.find(kernel_class(op));
  if (found == calibration.kernels.end() || is_quantised(op)) return std::nullopt;
  const KernelFit& fit = found->second;
  if (fit.on_gpu && !has_gpu_features(device)) return std::nullopt;
  const std::vector<double> features = fit.on_gpu ? gpu_features(op, device) : kernel_features(op);
  Cost cost =
      fit.on_gpu ? cost_on_gpu(found->first, features, fit) : cost_of_features(op, features, fit);
  cost = std::exp(fit.missed.value(kernel_sizes(op))) * cost;
  if (inside(features, fit)) {
    cost.provenance = Provenance::kFitted;
    cost.band = kBandPerError * fit.held_out_error;
    if (fit.held_out_rows == 0) cost.band = std::max(cost.band, kLeastExtrapolatedBand);
  } else {
    cost.provenance = Provenance::kExtrapolated;
    cost.band = std::max(kExtrapolatedPerError * fit.held_out_error, kLeastExtrapolatedBand);
  }
  return cost;
}

}  // namespace plait
