#pragma once
// What a PCIe link carries, from its rate and its lanes.

#include "core/quantity.h"

namespace plait {

/// One direction of a link with so many transfers per second in each lane: 16e9 over 16 lanes ->
/// 31.5 GB/s. Encoding 8b/10b up to 5 GT/s and 128b/130b up to 32; at 64 GT/s 242 of the 256 bytes
/// of a flit (PCIe base specifications 2.0, 5.0 and 6.0). Zero: no such link.
BytesPerSecond pcie_bandwidth(double transfers, int lanes);

/// Generations 1 to 6 are of 2.5, 5, 8, 16, 32 and 64 GT/s.
BytesPerSecond pcie_bandwidth_of_generation(int generation, int lanes);

}  // namespace plait
