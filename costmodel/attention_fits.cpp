#include "costmodel/attention_fits.h"

namespace plait {
namespace {

// Forward: fitted to AIConfigurator's context_attention_perf of SGLang and encoder_attention_perf
// of vLLM, 7 of 10 combinations of heads, key heads and head dimension: FlashAttention-2 on A100,
// -3 on H100, TensorRT-LLM's kernel on B200. AttentionFits.* in tests/costmodel fits them anew and
// prints the errors of the others. A100 has head dimension 128 only in these tables, its d0 is that
// of the published FlashAttention-2 plots, as is the rate of its backward pass; those of the others
// are FlashAttention-4's (0.85-0.89).
constexpr AttentionFit kAmpereAttention = {0.768, 18.8, 37, 1, 0, 1, 12.4, 0.93};
constexpr AttentionFit kHopperAttention = {0.887, 38.6, 260, 0.541, 0.156, 7.5, 8, 0.87};
constexpr AttentionFit kBlackwellAttention = {0.963, 84.2, 327, 1, 0.25, 21.9, 9.3, 0.87};
// Blackwell Ultra takes exponentials at twice the rate ("Inside NVIDIA Blackwell Ultra"): half of
// d0, by which the times of a GB300 are predicted to 10 %. The kernels of training below are for
// servers' Blackwell alone.
constexpr int kBlackwellUltra = 103, kDesktopBlackwell = 120;
constexpr AttentionFit with_quicker_exponential(AttentionFit fit) {
  fit.exponential /= 2;
  return fit;
}
// CDNA: as on Ampere, at the share of the peak that products reach; assumed.
constexpr AttentionFit kCdnaAttention = {0.46, 18.8, 37, 1, 0, 1, 12.4, 0.93};
// FlashAttention-2 on Hopper: e that of its plots, the rest as on Ampere. Heads of 96 as
// PyTorch 2.11 ran them on an H100 and an H200, by which cuDNN has no kernel for them
// (tests/costmodel/torch_attention_test.cpp).
constexpr double kFlash2Narrow = 106, kCudnnNarrow = 128;
constexpr AttentionFit kHopperFlash2 = {0.42, 18.8, 82,  1, 0,     1,
                                        8.2,  0.93, 2.5, 1, false, kFlash2Narrow};
// FlashAttention-2 of 2025, FlashAttention-4 and cuDNN 9.27 of September 2026: fitted to times that
// cudnn-frontend publishes of an H200 and a GB200 (tests/costmodel/training_attention.csv).
// TrainingAttention.* in tests/costmodel fits them anew and prints the errors of other heads,
// boards and releases.
constexpr AttentionFit kBlackwellFlash2 = {0.218, 18.8, 245,  0.005, 0.000, 1.0,
                                           10.6,  0.82, 1.17, 1.00,  true};
constexpr AttentionFit kHopperCudnn = {0.837, 10.1, 359,  0.113, 0.250, 8.9,
                                       0.0,   0.83, 1.38, 0.98,  true,  kCudnnNarrow};
constexpr AttentionFit kBlackwellFlash4 = {1.000, 40.1, 458,  1.000, 0.250, 116.7,
                                           6.9,   0.80, 1.52, 0.85,  true};
constexpr AttentionFit kBlackwellCudnn = {1.000, 37.3, 598,  0.784, 0.250, 102.3,
                                          0.0,   0.77, 0.76, 0.90,  true};
// A processor: 0.35 of the peak and half a tile, assumed.
constexpr AttentionFit kProcessor = {0.35, 0, 64, 0, 0, 1, 2, 0.9};

AttentionFit on_hopper(FlashKernel kernel) {
  switch (kernel) {
    case FlashKernel::kFlash1:
    case FlashKernel::kFlash2:
    case FlashKernel::kSdpa: return kHopperFlash2;
    case FlashKernel::kNewest:
    case FlashKernel::kFlash4: return kHopperAttention;
    case FlashKernel::kCudnn: return kHopperCudnn;
  }
  return {};
}

AttentionFit on_blackwell(FlashKernel kernel, const Device& device) {
  if (device.compute_capability >= kDesktopBlackwell) return kBlackwellAttention;
  switch (kernel) {
    case FlashKernel::kFlash1:
    case FlashKernel::kFlash2: return kBlackwellFlash2;
    case FlashKernel::kNewest: return kBlackwellAttention;
    case FlashKernel::kFlash4: return kBlackwellFlash4;
    case FlashKernel::kCudnn:
    case FlashKernel::kSdpa: return kBlackwellCudnn;
  }
  return {};
}

}  // namespace

// FlashAttention-1 reaches 25 to 40 % of A100's peak where FlashAttention-2 reaches 50 to 73 % (Dao
// 2023, abstract): the ratio of the middles.
constexpr double kFlash1Rate = 0.53;

AttentionFit attention_fit(const Device& device, FlashKernel kernel) {
  if (kernel == FlashKernel::kFlash1) {
    AttentionFit fit = attention_fit(device, FlashKernel::kFlash2);
    fit.flops *= kFlash1Rate;
    return fit;
  }
  switch (generation_of(device)) {
    case Generation::kCpu: return kProcessor;
    case Generation::kVolta:
    case Generation::kAmpere: return kAmpereAttention;
    case Generation::kHopper: return on_hopper(kernel);
    case Generation::kCdna: return kCdnaAttention;
    case Generation::kBlackwell:
      return device.compute_capability == kBlackwellUltra
                 ? with_quicker_exponential(on_blackwell(kernel, device))
                 : on_blackwell(kernel, device);
  }
  return {};
}

Quality attention_quality(const Device& device, FlashKernel kernel) {
  const Generation generation = generation_of(device);
  if (generation == Generation::kCpu) return {Provenance::kDatasheet, 0.5};
  if (generation == Generation::kCdna) return {Provenance::kDatasheet, 0.4};
  if (kernel == FlashKernel::kFlash1) return {Provenance::kExtrapolated, 0.3};
  if (attention_fit(device, kernel).alone) return {Provenance::kFitted, 0.12};
  if (!is_measured(device)) return {Provenance::kDatasheet, 0.25};
  const bool second = kernel == FlashKernel::kFlash2 || kernel == FlashKernel::kSdpa;
  if (second && generation != Generation::kAmpere) return {Provenance::kFitted, 0.1};
  switch (generation) {
    case Generation::kCpu:
    case Generation::kCdna:
    case Generation::kVolta: break;
    case Generation::kAmpere: return {Provenance::kFitted, 0.08};
    case Generation::kHopper: return {Provenance::kFitted, 0.135};
    case Generation::kBlackwell: return {Provenance::kFitted, 0.145};
  }
  return {Provenance::kDatasheet, 0.25};
}

}  // namespace plait
