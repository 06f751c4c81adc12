#pragma once
// From measured durations of collectives to the constants of costmodel/collective_fits.h, with
// logarithmic loss. No protocol moves data faster than the link: LL has 4 bytes of data in 8, LL128
// 120 in 128; so what is fitted is the time above that.

#include <vector>

#include "costmodel/collective_fits.h"

namespace plait {

struct CollectiveFitRow {
  NcclGroup group;
  Bytes bytes;
  Seconds time;
};

/// One fit for each GPU, collective, algorithm and protocol that NCCL takes for some row, in that
/// order. NCCL takes LL128 at none to three sizes of a collective: there a GPU has one fit for all
/// collectives, which stands under all_reduce.
std::vector<ProtocolFit> fit_islands(const std::vector<CollectiveFitRow>& rows);

/// all_to_all of one GPU. The size of a message at which LL gives way to Simple is the one of the
/// measured sizes that fits best.
PairwiseFit fit_pairwise(const std::vector<CollectiveFitRow>& rows);

/// All-reduces between islands.
FabricFit fit_fabric(const std::vector<CollectiveFitRow>& rows);

}  // namespace plait
