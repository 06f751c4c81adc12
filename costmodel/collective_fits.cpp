#include "costmodel/collective_fits.h"

#include <array>

namespace plait {
namespace {

using enum CollectiveKind;
using enum Generation;
using enum Algorithm;
using enum Protocol;

// Fits to AIConfigurator's nccl_perf tables (NCCL 2.27-2.29, half precision, 2, 4 and 8 GPUs, 512 B
// to 512 MB, medians over versions; logarithmic loss) on the sizes where NCCL's model takes this
// algorithm and protocol. Fitted on every other size, the mean error on the rest is 5 to 8 % for
// each GPU and collective. NVLS: the plateau (476 and 866 GB/s of bus bandwidth with 8 GPUs,
// growing as 1 - 1/n) reaches ml-engineering's sweep at 8-16 GB; the ramp up to it is fitted. LL128
// is rarely chosen: where one or two sizes do not make a fit, the constants are shared between
// collectives (Blackwell: the rate from one size each, 219-248 GB/s, start and step assumed).
constexpr std::array kFits = {
    ProtocolFit{kAllReduce, kAmpere, kRing, kLl, 9.35, 0.948, 101.4, 0, 0},
    ProtocolFit{kAllReduce, kAmpere, kRing, kLl128, 23.77, 0.436, 153.6, 0, 0},
    ProtocolFit{kAllReduce, kAmpere, kRing, kSimple, 23.57, 4.230, 240.4, 0.35, 3},
    ProtocolFit{kAllGather, kAmpere, kRing, kLl, 9.53, 0.930, 72.9, 0, 0},
    ProtocolFit{kAllGather, kAmpere, kRing, kLl128, 23.77, 0.436, 153.6, 0, 0},
    ProtocolFit{kAllGather, kAmpere, kRing, kSimple, 19.78, 6.004, 239.2, 0.70, 3},
    ProtocolFit{kReduceScatter, kAmpere, kRing, kLl, 9.42, 0.819, 81.9, 0, 0},
    ProtocolFit{kReduceScatter, kAmpere, kRing, kLl128, 23.77, 0.436, 153.6, 0, 0},
    ProtocolFit{kReduceScatter, kAmpere, kRing, kSimple, 21.98, 5.323, 235.8, 0.55, 1},
    ProtocolFit{kAllReduce, kHopper, kRing, kLl, 5.20, 0.795, 170.1, 0, 0},
    ProtocolFit{kAllReduce, kHopper, kRing, kLl128, 17.4, 0.69, 305, 0, 0},
    ProtocolFit{kAllReduce, kHopper, kRing, kSimple, 14.64, 0.388, 394.6, 0.35, 3},
    ProtocolFit{kAllReduce, kHopper, kNvls, kSimple, 20.4, 0, 544, 1, 7.2},
    ProtocolFit{kAllGather, kHopper, kRing, kLl, 5.11, 0.858, 134.7, 0, 0},
    ProtocolFit{kAllGather, kHopper, kRing, kLl128, 16.2, 0.66, 306, 0, 0},
    ProtocolFit{kAllGather, kHopper, kRing, kSimple, 10.22, 2.973, 406.9, 0.65, 3},
    ProtocolFit{kReduceScatter, kHopper, kRing, kLl, 5.27, 0.756, 169.8, 0, 0},
    ProtocolFit{kReduceScatter, kHopper, kRing, kLl128, 16.2, 0.66, 306, 0, 0},
    ProtocolFit{kReduceScatter, kHopper, kRing, kSimple, 9.02, 2.186, 397.1, 0.75, 2},
    ProtocolFit{kAllReduce, kBlackwell, kRing, kLl, 7.65, 1.329, 327.8, 0, 0},
    ProtocolFit{kAllReduce, kBlackwell, kRing, kLl128, 30, 0.7, 235, 0, 0},
    ProtocolFit{kAllReduce, kBlackwell, kRing, kSimple, 14.01, 6.552, 827.9, 0.65, 0},
    ProtocolFit{kAllReduce, kBlackwell, kNvls, kSimple, 25.8, 0, 990, 1, 10},
    ProtocolFit{kAllGather, kBlackwell, kRing, kLl, 7.88, 1.287, 223.9, 0, 0},
    ProtocolFit{kAllGather, kBlackwell, kRing, kLl128, 30, 0.7, 235, 0, 0},
    ProtocolFit{kAllGather, kBlackwell, kRing, kSimple, 12.30, 8.063, 823.3, 0.90, 0},
    ProtocolFit{kReduceScatter, kBlackwell, kRing, kLl, 7.78, 1.274, 245.6, 0, 0},
    ProtocolFit{kReduceScatter, kBlackwell, kRing, kLl128, 30, 0.7, 235, 0, 0},
    ProtocolFit{kReduceScatter, kBlackwell, kRing, kSimple, 11.47, 7.027, 777.4, 0.90, 0},
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
