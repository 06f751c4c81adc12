#include "costmodel/torch_rows.h"

#include <algorithm>

#include "costmodel/eager.h"
#include "costmodel/kernels.h"

namespace plait {
namespace {

/// Blocks of 128 threads that a multiprocessor holds.
constexpr double kBlocks = 16;
/// Of the second-level cache, what holds rows until their block comes to them again: read off the
/// widths from which norms of both GPUs reach less of the bandwidth.
constexpr double kCached = 0.35;

// Beyond so many rows, of so few columns that half of the multiprocessors would have none,
// gradients of gamma are summed in two steps (aten/src/ATen/native/cuda/layer_norm_kernel.cu,
// LaunchGammaBetaBackwardCUDAKernel).
constexpr std::int64_t kManyRows = 65'536, kColumns = 32;

struct Sizes {
  double rows, width, bytes;  // bytes: of all elements
  template <class Op>
  explicit Sizes(const Op& op)
      : rows(static_cast<double>(op.rows)),
        width(static_cast<double>(op.width)),
        bytes(rows * width * static_cast<double>(size_of(op.dtype))) {}
};

Seconds time_of(double bytes, double fraction, const Device& device) {
  return Seconds(bytes / (fraction * device.memory_bandwidth.value));
}

/// Measured on Hopper.
Cost cost_on(const Device& device, const KernelTime& time) {
  const bool hopper = generation_of(device) == Generation::kHopper;
  const Quality quality{hopper ? Provenance::kFitted : Provenance::kDatasheet,
                        hopper ? 0.12 : 0.25};
  return cost_of(time, quality, device);
}

}  // namespace

// Fitted to PyTorch 2.11's kernels on an H200 and an H100, rows of 768 to 12,288 bf16
// (reports/gpu/*/torch-rows.json); TorchRowFits.* in tests/costmodel fits them anew.
TorchNorm torch_norm(NormKind kind, Pass pass) {
  constexpr TorchNorm kLayer = {4.19, 4002, 4.25, 0.774, 1}, kRms = {2.74, 1985, 2.23, 0.756, 1};
  constexpr TorchNorm kInputGradient = {4.68, 2699, 2.86, 0.817, 2};
  if (!is_forward(pass)) return kInputGradient;
  return kind == NormKind::kLayerNorm ? kLayer : kRms;
}
TorchSum torch_norm_parameters(NormKind kind) {
  constexpr TorchSum kLayer = {3.27, 8.57, 0.694}, kRms = {2.75, 6.85, 0.703};
  return kind == NormKind::kLayerNorm ? kLayer : kRms;
}
TorchSum torch_row_sum() { return {9.45, 1.61, 0.759}; }

KernelTime norm_time(const TorchNorm& kernel, const Norm& op, const Device& device) {
  const Sizes sizes(op);
  if (sizes.bytes == 0) return {};
  const double at_a_time = kBlocks * device.sms;
  const double compute =
      sizes.rows / at_a_time * (kernel.row + kernel.element * sizes.width) / clock_of(device);
  const double under_way = at_a_time * kernel.operands * sizes.bytes / sizes.rows;
  const double again =
      std::max(0.0, 1 - kCached * static_cast<double>(device.l2_cache.value) / under_way);
  const double passes = kernel.operands * (1 + again) + 1;
  return overlapped(Seconds(kernel.fixed_us * 1e-6), Seconds(compute),
                    time_of(passes * sizes.bytes, kernel.bandwidth, device));
}

KernelTime parameters_time(const TorchSum& kernel, const Norm& op, const Device& device) {
  const Sizes sizes(op);
  if (sizes.bytes == 0) return {};
  const bool in_two_steps = op.rows > kManyRows && 2 * op.width / kColumns < device.sms;
  const double one_by_one = in_two_steps ? 0 : kernel.row * sizes.rows / clock_of(device);
  const double operands = 2;
  return overlapped(Seconds(kernel.fixed_us * 1e-6), Seconds(one_by_one),
                    time_of(operands * sizes.bytes, kernel.bandwidth, device));
}

KernelTime row_sum_time(const TorchSum& kernel, const BiasGrad& op, const Device& device) {
  const Sizes sizes(op);
  if (sizes.bytes == 0) return {};
  return {Seconds(kernel.fixed_us * 1e-6), Seconds(kernel.row * sizes.rows / clock_of(device)),
          time_of(sizes.bytes, kernel.bandwidth, device)};
}

bool has_torch_rows(const Device& device) {
  const Generation generation = generation_of(device);
  return device.sms > 0 && generation != Generation::kCpu && generation != Generation::kCdna;
}

Cost torch_norm_cost(const Norm& op, const Device& device) {
  const Cost one = cost_on(device, norm_time(torch_norm(op.kind, op.pass), op, device));
  if (is_forward(op.pass) || op.pass == Pass::kInputGrad) return one;
  return one + cost_on(device, parameters_time(torch_norm_parameters(op.kind), op, device));
}

Cost torch_norm_cost(const HeadNorm& op, const Device& device) {
  const auto of = [&](std::int64_t heads, std::int64_t width) {
    const Norm norm{op.pass, NormKind::kRmsNorm, op.rows * heads, width, op.dtype};
    return torch_norm_cost(norm, device);
  };
  return of(op.heads, op.head_dim) + of(op.kv_heads, op.key_dim);
}

Cost torch_bias_gradient_cost(const BiasGrad& op, const Device& device) {
  const KernelTime sum = row_sum_time(torch_row_sum(), op, device);
  if (sum.total().value == 0) return {};
  const Seconds with_earlier = stream_fit(device, StreamKind::kCopy).fixed;
  return cost_on(device, sum) + cost_on(device, {with_earlier, Seconds(), Seconds()});
}

std::optional<Cost> torch_rows_cost(const Compute& op, const Device& device,
                                    const Kernels& kernels) {
  if (!has_torch_rows(device)) return std::nullopt;
  if (const auto* norm = std::get_if<Norm>(&op); norm && is_native(*norm, kernels))
    return torch_norm_cost(*norm, device);
  if (const auto* heads = std::get_if<HeadNorm>(&op);
      heads && is_native(norm_of_heads(*heads), kernels))
    return torch_norm_cost(*heads, device);
  if (const auto* bias = std::get_if<BiasGrad>(&op); bias && kernels.bias != Fusion::kFused)
    return torch_bias_gradient_cost(*bias, device);
  return std::nullopt;
}

}  // namespace plait
