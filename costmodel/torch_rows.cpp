#include "costmodel/torch_rows.h"

#include <algorithm>
#include <cmath>

#include "costmodel/efficiency.h"
#include "costmodel/kernels.h"

namespace plait {
namespace {

/// Blocks of 128 threads that a multiprocessor holds.
constexpr double kBlocks = 16;
/// Of the second-level cache, what holds rows until their block comes to them again.
constexpr double kCached = 0.35;

struct NormKernel {
  double fixed_us;      // t0
  double row, element;  // c and w, clocks
  double bandwidth;     // b
  double operands;      // that are read twice: of a row's elements
  double written;       // likewise
};
struct SumKernel {
  double fixed_us;   // t0
  double row;        // c, clocks
  double bandwidth;  // b
};

// Fitted to PyTorch 2.11's kernels on an H200 and an H100 (reports/gpu/*/torch-rows.json, op "norm"
// and "sum_of_rows" of op "element_wise"), rows of bf16 of 768 to 12,288 elements.
constexpr NormKernel kLayerForward = {4.24, 3956, 4.27, 0.777, 1, 1};
constexpr NormKernel kRmsForward = {2.76, 1952, 2.22, 0.756, 1, 1};
constexpr NormKernel kInputGradient = {4.71, 2672, 2.85, 0.817, 2, 1};
constexpr SumKernel kLayerParameters = {3.22, 8.5, 0.69}, kRmsParameters = {2.75, 6.8, 0.7};
constexpr SumKernel kRowSum = {10.3, 1.64, 0.756};

// Beyond so many rows, of so few columns that half of the multiprocessors would have none,
// gradients of gamma are summed in two steps (aten/src/ATen/native/cuda/layer_norm_kernel.cu,
// LaunchGammaBetaBackwardCUDAKernel).
constexpr std::int64_t kManyRows = 64 * 1024, kColumns = 32;

double cube(double x) { return x * x * x; }

/// Of the two that overlap: what is more than their roots, in proportion.
KernelTime overlapped(double fixed_us, double compute, double memory) {
  const double both = std::cbrt(cube(compute) + cube(memory));
  const double on_compute = both == 0 ? 0 : both / (1 + cube(memory / compute));
  return {Seconds(fixed_us * 1e-6), Seconds(on_compute), Seconds(both - on_compute)};
}

struct Shape {
  double rows, width, element;  // element: bytes
  double elements() const { return rows * width; }
};

KernelTime norm_time(const NormKernel& k, const Shape& s, const Device& device) {
  const double at_a_time = kBlocks * device.sms;
  const double compute = s.rows / at_a_time * (k.row + k.element * s.width) / clock_of(device);
  const double under_way = at_a_time * k.operands * s.width * s.element;
  const double again =
      std::max(0.0, 1 - kCached * static_cast<double>(device.l2_cache.value) / under_way);
  const double bytes = s.elements() * s.element * (k.operands * (1 + again) + k.written);
  return overlapped(k.fixed_us, compute, bytes / (k.bandwidth * device.memory_bandwidth.value));
}

KernelTime parameters_time(const SumKernel& k, const Shape& s, const Device& device) {
  const bool in_two_steps = s.rows > kManyRows && s.width / kColumns < device.sms / 2.0;
  const double rows = in_two_steps ? 0 : s.rows;
  const double operands = 2;
  return overlapped(
      k.fixed_us, k.row * rows / clock_of(device),
      operands * s.elements() * s.element / (k.bandwidth * device.memory_bandwidth.value));
}

/// Measured on Hopper.
Quality quality_on(const Device& device) {
  const bool hopper = generation_of(device) == Generation::kHopper;
  return {hopper ? Provenance::kFitted : Provenance::kDatasheet, hopper ? 0.12 : 0.25};
}

}  // namespace

bool has_torch_rows(const Device& device) {
  const Generation generation = generation_of(device);
  return device.sms > 0 && generation != Generation::kCpu && generation != Generation::kCdna;
}

Cost torch_norm_cost(const Norm& op, const Device& device) {
  const Shape shape{static_cast<double>(op.rows), static_cast<double>(op.width),
                    static_cast<double>(size_of(op.dtype))};
  const bool layer = op.kind == NormKind::kLayerNorm;
  const auto cost = [&](const KernelTime& time) {
    return cost_of(time, quality_on(device), device);
  };
  if (shape.elements() == 0) return {};
  if (is_forward(op.pass))
    return cost(norm_time(layer ? kLayerForward : kRmsForward, shape, device));
  Cost backward = cost(norm_time(kInputGradient, shape, device));
  if (op.pass != Pass::kInputGrad)
    backward =
        backward + cost(parameters_time(layer ? kLayerParameters : kRmsParameters, shape, device));
  return backward;
}

Cost torch_norm_cost(const HeadNorm& op, const Device& device) {
  const auto of = [&](std::int64_t heads, std::int64_t width) {
    return torch_norm_cost(Norm{op.pass, NormKind::kRmsNorm, op.rows * heads, width, op.dtype},
                           device);
  };
  return of(op.heads, op.head_dim) + of(op.kv_heads, op.key_dim);
}

Cost torch_bias_gradient_cost(std::int64_t rows, std::int64_t width, DType dtype,
                              const Device& device) {
  const double bytes =
      static_cast<double>(rows) * static_cast<double>(width) * static_cast<double>(size_of(dtype));
  if (bytes == 0) return {};
  const KernelTime sum{Seconds(kRowSum.fixed_us * 1e-6),
                       Seconds(kRowSum.row * static_cast<double>(rows) / clock_of(device)),
                       Seconds(bytes / (kRowSum.bandwidth * device.memory_bandwidth.value))};
  const KernelTime with_earlier{stream_fit(device, StreamKind::kCopy).fixed, Seconds(), Seconds()};
  const Quality quality = quality_on(device);
  return cost_of(sum, quality, device) + cost_of(with_earlier, quality, device);
}

}  // namespace plait
