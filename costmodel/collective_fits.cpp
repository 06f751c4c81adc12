#include "costmodel/collective_fits.h"

#include <array>

namespace plait {
namespace {

using enum CollectiveKind;
using enum Generation;
using enum Algorithm;
using enum Protocol;

// Fits to AIConfigurator's nccl_perf tables (NCCL 2.27-2.29, half precision, 2, 4 and 8 GPUs, 256 B
// to 512 MB) on the sizes where NCCL's model takes this algorithm and protocol.
constexpr std::array kFits = {
    ProtocolFit{kAllReduce, kAmpere, kRing, kLl, 9.1, 0.92, 112, 0, 0},
    ProtocolFit{kAllReduce, kAmpere, kRing, kLl128, 21, 0.76, 152, 0, 0},
    ProtocolFit{kAllReduce, kAmpere, kRing, kSimple, 38.8, 1.0, 231, 0.33, 1},
    ProtocolFit{kAllReduce, kHopper, kRing, kLl, 5.2, 0.76, 165, 0, 0},
    ProtocolFit{kAllReduce, kHopper, kRing, kLl128, 17.4, 0.69, 305, 0, 0},
    ProtocolFit{kAllReduce, kHopper, kRing, kSimple, 17.6, 1.0, 388, 0.41, 1},
    ProtocolFit{kAllReduce, kHopper, kNvls, kSimple, 14.3, 1.0, 456, 0.35, 1},
    ProtocolFit{kAllReduce, kBlackwell, kRing, kLl, 8.1, 1.25, 306, 0, 0},
    ProtocolFit{kAllReduce, kBlackwell, kRing, kSimple, 21.9, 1.0, 750, 0.48, 1},
    ProtocolFit{kAllReduce, kBlackwell, kNvls, kSimple, 33.5, 1.0, 731, 0.43, 1},
    ProtocolFit{kAllGather, kHopper, kRing, kLl, 5.0, 0.82, 119, 0, 0},
    ProtocolFit{kAllGather, kHopper, kRing, kLl128, 16.2, 0.66, 306, 0, 0},
    ProtocolFit{kAllGather, kHopper, kRing, kSimple, 19.8, 1.0, 367, 0.53, 1},
};

}  // namespace

const ProtocolFit* protocol_fit(CollectiveKind kind, Generation generation, Algorithm algorithm,
                                Protocol protocol) {
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
    case kAmpere: return BytesPerSecond(300e9);
  }
  return {};
}

}  // namespace plait
