// The analytic network counts on no more than the links of the machine written out can carry.
#include "tests/sim/carried.h"

#include <gtest/gtest.h>

#include <numeric>

#include "topologies/catalogue.h"

namespace plait::carried_test {

DeviceGroup first_devices(std::int64_t count) {
  DeviceGroup out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

/// Of each byte a member sends and receives (n - 1) / n.
double at_rate(std::int64_t members, BytesPerSecond rate) {
  return static_cast<double>(members - 1) / static_cast<double>(members) / rate.value;
}

TEST(Carried, CardsThatSendThroughTheHostShareTheUplinkInBothNetworks) {
  const Cluster c = make_cluster({.preset = "pcie-8", .device = find_device("rtx-4090")});
  for (const std::int64_t n : {2, 3, 4, 8}) {
    const DeviceGroup group = first_devices(n);
    const GroupPlacement place = place_group(c, group);
    EXPECT_DOUBLE_EQ(seconds_per_byte(c, {group}, CollectiveKind::kAllGather),
                     at_rate(n, place.intra_alone.bandwidth));
    EXPECT_DOUBLE_EQ(seconds_per_byte(c, {group}, CollectiveKind::kAllToAll),
                     at_rate(n, place.intra_exchange_alone.bandwidth));
  }
}

}  // namespace plait::carried_test
