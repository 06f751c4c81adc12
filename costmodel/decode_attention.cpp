#include "costmodel/decode_attention.h"

#include <algorithm>
#include <cmath>

namespace plait {
namespace {

/// FlashMLA's README: 660 TFLOP/s where it is bound by arithmetic, on H800 SXM5 of 989 dense.
constexpr double kLatentFlops = 660.0 / 989.0;

}  // namespace

// Fitted to AIConfigurator's generation_attention_perf of SGLang, 7 of 10 combinations of heads,
// key heads and head dimension; DecodeFits.* in tests/costmodel fits them anew and prints the
// errors of the others. A processor streams its cache at half of the bandwidth, assumed.
DecodeFit decode_fit(const Device& device) {
  switch (generation_of(device)) {
    case Generation::kCpu: return {1, 0.5, 0, 0};
    case Generation::kVolta:
    case Generation::kCdna:
    case Generation::kAmpere: return {19.4, 0.569, 0.752, 0.157};
    case Generation::kHopper: return {9.12, 0.888, 0.954, 0.045};
    case Generation::kBlackwell: return {8.98, 0.913, 0.197, 0.081};
  }
  return {};
}

Quality decode_quality(const Device& device) {
  const Generation generation = generation_of(device);
  if (generation == Generation::kCpu) return {Provenance::kDatasheet, 0.5};
  if (generation == Generation::kCdna) return {Provenance::kDatasheet, 0.4};
  if (!is_measured(device)) return {Provenance::kDatasheet, 0.25};
  return {Provenance::kFitted, 0.135};
}

KernelTime decode_time(const DecodeFit& fit, const Attention& op, const Device& device) {
  constexpr double kKeysOfASplit = 128;
  const double sms = std::max(device.sms, 1);
  const auto pairs = static_cast<double>(op.batch * op.kv_heads);
  const double most = static_cast<double>(op.seq_kv) / kKeysOfASplit;
  const double splits = std::max(1.0, std::min(std::floor(sms / pairs), most));
  const double waste = std::ceil(pairs * splits / sms) * sms / (pairs * splits);
  const Seconds stream = memory_traffic(op) / (device.memory_bandwidth * fit.bandwidth);
  const Seconds fixed(1e-6 * (fit.fixed_us + fit.split_us * (splits - 1)));
  const Seconds memory = stream * std::pow(waste, fit.waste);
  if (!op.latents) return {fixed, Seconds(), memory};
  const Seconds compute = hardware_flops(op) / (device.peak(op.dtype) * kLatentFlops);
  return compute > memory ? KernelTime{fixed, compute, Seconds()}
                          : KernelTime{fixed, Seconds(), memory};
}

}  // namespace plait
