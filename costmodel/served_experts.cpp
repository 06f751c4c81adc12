#include "costmodel/served_experts.h"

#include "costmodel/kernels.h"

namespace plait {
namespace {

// Fitted to AIConfigurator's moe_perf tables (vLLM 0.14 on A100, 0.24 on H100 and B200), all
// experts on one device, 7 of 10 shapes. ServedExperts.* in tests/costmodel fits them anew and
// prints the errors of the other shapes. A100's are by a power law, the others' balanced.
constexpr TiledGemm kAmpereHalf = {
    kAmpereUnit, 0.372, 0.704, 42, 0.001, 0, 1, {0.959, 0.878, 0.545, 0.843}, 0.001, 6.40};
constexpr TiledGemm kHopperHalf = {
    kHopperUnit, 0.731, 0.920, 326, 1.000, 0, 1, {1.000, 0.767, 0.263, 0.375}, 0.001, 11.14};
constexpr TiledGemm kHopperEight = {
    2 * kHopperUnit, 0.383, 0.927, 240, 1.000, 0, 1, {0.882, 0.944, 0.906, 0.390}, 0.001, 15.08};
constexpr TiledGemm kHopperWidened = {
    kHopperUnit, 0.710, 1.000, 119, 0.725, 0, 1, {0.824, 0.714, 0.434, 0.508}, 0.001, 13.53};
constexpr TiledGemm kBlackwellHalf = {
    kBlackwellUnit, 0.496, 0.899, 0, 1.000, 0, 1, {0.942, 1.000, 0.388, 0.673}, 0.001, 5.64};
constexpr TiledGemm kBlackwellEight = {2 * kBlackwellUnit,           0.615, 1.000, 239, 1.000, 0, 1,
                                       {0.303, 0.253, 0.212, 0.212}, 0.001, 3.06};
constexpr TiledGemm kBlackwellBlocks = {2 * kBlackwellUnit,           0.230, 1.000, 69, 1.000, 0, 1,
                                        {0.817, 0.650, 0.254, 0.572}, 0.001, 9.60};
constexpr TiledGemm kBlackwellWidened = {
    kBlackwellUnit, 0.418, 0.692, 1248, 0.001, 0, 1, {0.934, 0.586, 0.341, 0.888}, 0.001, 6.41};
constexpr TiledGemm kBlackwellFour = {4 * kBlackwellUnit,           0.676, 0.953, 543, 1.000, 0, 1,
                                      {0.483, 0.225, 0.223, 0.252}, 0.001, 0.91};

/// Bands hold 80 % of the shapes that were not fitted.
struct Kernel {
  const TiledGemm* fit = nullptr;
  double band = 0;
  RowCounts rows = RowCounts::kChosen;  // unless the table's are uneven already
};

Kernel kernel_of(const MatMul& op, const Device& device, Fusion scales) {
  const bool four = op.in == DType::kNvfp4, eight = op.in == DType::kFp8;
  const bool widened = op.weights != WeightFormat::kPlain;
  if (device.sms <= 0) return {};
  switch (generation_of(device)) {
    case Generation::kCpu:
    case Generation::kCdna: return {};
    case Generation::kVolta:
    case Generation::kAmpere: return {&kAmpereHalf, 0.24, RowCounts::kEven};
    case Generation::kHopper:
      if (eight) return {&kHopperEight, 0.13};
      return widened ? Kernel{&kHopperWidened, 0.1} : Kernel{&kHopperHalf, 0.27};
    case Generation::kBlackwell:
      if (four) return {&kBlackwellFour, 0.205};
      if (eight && scales == Fusion::kBlocks) return {&kBlackwellBlocks, 0.215};
      if (eight) return {&kBlackwellEight, 0.215};
      return widened ? Kernel{&kBlackwellWidened, 0.23} : Kernel{&kBlackwellHalf, 0.19};
  }
  return {};
}

// What it adds to a band, as to those of other products (costmodel/gemm_fits.cpp).
constexpr double kOtherDevice = 0.1;

}  // namespace

const TiledGemm* served_experts(const MatMul& op, const Device& device, Fusion scales) {
  return kernel_of(op, device, scales).fit;
}

Cost served_experts_cost(const MatMul& op, const Device& device, Fusion scales, double slowdown) {
  const Kernel kernel = kernel_of(op, device, scales);
  TiledGemm fit = *kernel.fit;
  fit.flops *= matmul_yield(device, op.in) / slowdown;
  const Quality quality = is_measured(device)
                              ? Quality{Provenance::kFitted, kernel.band}
                              : Quality{Provenance::kDatasheet, kernel.band + kOtherDevice};
  return cost_of(tiled_time(fit, op, device, kernel.rows), quality, device);
}

}  // namespace plait
