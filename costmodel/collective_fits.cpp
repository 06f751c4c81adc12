#include "costmodel/collective_fits.h"

#include <array>
#include <cmath>

#include "costmodel/microseconds.h"

namespace plait {
namespace {

using enum CollectiveKind;
using enum Generation;
using enum Algorithm;
using enum Protocol;

// Fitted to AIConfigurator's nccl_perf tables (NCCL 2.27-2.29, half precision, 2, 4 and 8 GPUs;
// medians) at 512 B, 2 KiB, ..., 512 MiB, and for 8 GPUs' all_reduce to Azure's (A100, H100) and
// ml-engineering's (B200) times at 2 and 8 GiB; the sizes between are held out. CollectiveFits.* in
// tests/costmodel fits them anew and prints the errors.
constexpr std::array kFits = {
    ProtocolFit{kAllReduce, kAmpere, kRing, kLl, 8.38, 0.973, 150, 0, 6.53},
    ProtocolFit{kAllReduce, kAmpere, kRing, kLl128, 23.92, 0, 140.4, 0, 0},
    ProtocolFit{kAllReduce, kAmpere, kRing, kSimple, 22.57, 3.205, 243.4, 0.35, 5.69},
    ProtocolFit{kAllGather, kAmpere, kRing, kLl, 8.43, 0.999, 150, 0, 6.74},
    ProtocolFit{kAllGather, kAmpere, kRing, kSimple, 22.27, 6.198, 249, 1.229, 1.67},
    ProtocolFit{kReduceScatter, kAmpere, kRing, kLl, 8.45, 0.895, 150, 0, 5.39},
    ProtocolFit{kReduceScatter, kAmpere, kRing, kSimple, 20.98, 5.913, 244.2, 0.846, 0.87},
    ProtocolFit{kAllReduce, kHopper, kRing, kLl, 4.77, 0.812, 225, 0, 2.5},
    ProtocolFit{kAllReduce, kHopper, kRing, kLl128, 2.29, 1.877, 256.4, 0, 0},
    ProtocolFit{kAllReduce, kHopper, kRing, kSimple, 15.95, 0.654, 401.3, 0.489, 2.2},
    ProtocolFit{kAllReduce, kHopper, kNvls, kSimple, 11.22, 0, 273.5, 0, 11.95},
    ProtocolFit{kAllGather, kHopper, kRing, kLl, 4.65, 0.915, 225, 1.286, 1.8},
    ProtocolFit{kAllGather, kHopper, kRing, kSimple, 9.08, 1.994, 412.3, 0.885, 3.77},
    ProtocolFit{kReduceScatter, kHopper, kRing, kLl, 5.12, 0.782, 225, 1.827, 0},
    ProtocolFit{kReduceScatter, kHopper, kRing, kSimple, 2.36, 0.606, 431.4, 1.12, 5.09},
    ProtocolFit{kAllReduce, kBlackwell, kRing, kLl, 7.51, 1.358, 450, 1.133, 0.56},
    ProtocolFit{kAllReduce, kBlackwell, kRing, kLl128, 13.39, 4.717, 291.2, 0, 0},
    ProtocolFit{kAllReduce, kBlackwell, kRing, kSimple, 15.96, 4.989, 826.1, 0.98, 0},
    ProtocolFit{kAllReduce, kBlackwell, kNvls, kSimple, 0, 0, 476.9, 0, 17.88},
    ProtocolFit{kAllGather, kBlackwell, kRing, kLl, 7.4, 1.367, 377.8, 1.14, 1.74},
    ProtocolFit{kAllGather, kBlackwell, kRing, kSimple, 12.78, 8.236, 900, 1.867, 0},
    ProtocolFit{kReduceScatter, kBlackwell, kRing, kLl, 7.4, 1.354, 362, 0.769, 1.24},
    ProtocolFit{kReduceScatter, kBlackwell, kRing, kSimple, 10.78, 7.674, 900, 2.172, 0},
};

// all_to_all: the same tables.
constexpr ProtocolFit pairwise(Generation generation, Protocol protocol, double base, double step,
                               double rate, double small, double ramp) {
  return {kAllToAll, generation, kPairwise, protocol, base, step, rate, small, ramp};
}
constexpr std::array kPairwiseFits = {
    PairwiseFit{pairwise(kAmpere, kLl, 10.36, 0.568, 5.84, 0, 0),
                pairwise(kAmpere, kSimple, 11.11, 0.267, 231.6, 0.342, 8.12)},
    PairwiseFit{pairwise(kHopper, kLl, 6.12, 0.251, 5.9, 0, 0),
                pairwise(kHopper, kSimple, 12.08, 0, 330, 0.27, 1.51)},
    PairwiseFit{pairwise(kBlackwell, kLl, 8.96, 0.311, 6.7, 0, 0),
                pairwise(kBlackwell, kSimple, 13.68, 0.401, 721.8, 1.883, 1.62)},
};

// Bus bandwidths of 32 to 1024 H100, read from plots: NVLS trees by NVIDIA (GTC 2024, S62129) and
// what NCCL takes by itself (arXiv 2411.13055).
constexpr FabricFit kFabricFit = {22.41, 50.12, 394.5, 6.936};

}  // namespace

const ProtocolFit* protocol_fit(CollectiveKind kind, Generation generation, Algorithm algorithm,
                                Protocol protocol) {
  const bool fitted = kind == kAllReduce || kind == kAllGather || kind == kReduceScatter;
  if (fitted && protocol == kLl128) kind = kAllReduce;
  for (const ProtocolFit& fit : kFits)
    if (fit.kind == kind && fit.generation == generation && fit.algorithm == algorithm &&
        fit.protocol == protocol)
      return &fit;
  return nullptr;
}

BytesPerSecond fitted_link_rate(Generation generation) {
  switch (generation) {
    case kBlackwell: return BytesPerSecond(900e9);
    case kHopper: return BytesPerSecond(450e9);
    case kCpu:
    case kVolta:
    case kCdna:
    case kAmpere: return BytesPerSecond(300e9);
  }
  return {};
}

PairwiseFit pairwise_fit(Generation generation) {
  for (const PairwiseFit& fit : kPairwiseFits)
    if (fit.small.generation == generation) return fit;
  return kPairwiseFits.front();
}

FabricFit fabric_fit() { return kFabricFit; }

IslandWork island_work(const NcclGroup& g, Bytes bytes, Algorithm algorithm, Protocol protocol) {
  const double size = static_cast<double>(bytes.value), megabytes = size / 1e6;
  const double passes = g.kind == kAllReduce ? 2 : 1, others = g.ranks - 1;
  if (algorithm == kNvls) return {passes * others, size, std::log2(1 + megabytes)};
  const bool one_pair = algorithm == kPairwise && protocol == kLl;
  return {passes * others, (one_pair ? 1 : passes * others) / g.ranks * size, std::sqrt(megabytes)};
}

FittedTime island_time(const ProtocolFit& fit, const NcclGroup& g, Bytes bytes) {
  const IslandWork work = island_work(g, bytes, fit.algorithm, fit.protocol);
  return {
      us(fit.base_us), us(fit.step_us * work.steps),
      us(work.sent / (1e3 * fit.rate_gbps) * (1 + fit.small / g.ranks) + fit.ramp_us * work.ramp)};
}

FittedTime fabric_time(const FabricFit& fit, const NcclGroup& g, Bytes bytes) {
  const double levels = std::log2(g.nodes);
  const IslandWork work = island_work(g, bytes, kRing, kSimple);
  return {us(fit.base_us), us(fit.hop_us * levels),
          us(work.sent / (1e3 * fit.rate_gbps) + fit.ramp_us * levels * work.ramp)};
}

}  // namespace plait
