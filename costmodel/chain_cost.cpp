#include "costmodel/chain_cost.h"

#include <algorithm>

#include "costmodel/kernels.h"

namespace plait {

Cost chain_cost(const KernelChain& chain, const Device& device) {
  if (chain.kernels == 0) return {};
  Cost cost = stream_cost(chain.bytes, chain.kernels, chain.kind, device);
  cost.share[kMemoryBandwidth] += piece_wait(chain, device);
  const Seconds wait = index_wait(chain, device);
  if (wait == Seconds()) return cost;
  // A faster memory would not help kernels that wait.
  const Seconds copied = std::min(cost.share[kMemoryBandwidth], indexed_copy(chain, device));
  cost.share[kMemoryBandwidth] = cost.share[kMemoryBandwidth] - copied;
  cost.share[kPeakFlops] += copied + wait;
  return cost;
}

}  // namespace plait
