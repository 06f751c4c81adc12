#include "topologies/importers/pcie_link.h"

#include <array>
#include <cstddef>

namespace plait {

BytesPerSecond pcie_bandwidth(double transfers, int lanes) {
  if (!(transfers > 0 && transfers <= 64e9) || lanes <= 0 || lanes > 32) return {};
  const double coding = transfers <= 5e9 ? 8.0 / 10 : transfers <= 32e9 ? 128.0 / 130 : 242.0 / 256;
  return BytesPerSecond(transfers * coding * lanes / 8);
}

BytesPerSecond pcie_bandwidth_of_generation(int generation, int lanes) {
  constexpr std::array<double, 6> kTransfers = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  if (generation < 1 || generation > static_cast<int>(kTransfers.size())) return {};
  return pcie_bandwidth(kTransfers[static_cast<std::size_t>(generation - 1)], lanes);
}

}  // namespace plait
