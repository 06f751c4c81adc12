// Which link of a machine bounds what nccl-tests measured on it.
#include "costmodel/data_sheet_link.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "topologies/catalogue.h"

namespace plait::data_sheet_link_test {

CollectiveTimings run_of(const std::string& collective, std::int64_t ranks, std::int64_t hosts) {
  CollectiveTimings out;
  out.collective = collective, out.ranks = ranks, out.hosts = hosts;
  return out;
}

TEST(DataSheetLink, OfOneHostItIsAllNvlinksOfADevice) {
  const auto link = data_sheet_link(run_of("all_reduce", 8, 1), "h100-sxm");
  ASSERT_TRUE(link);
  const Device h100 = find_device("h100-sxm");
  EXPECT_EQ(link->kind, DataSheetLink::Kind::kNvlink);
  EXPECT_EQ(link->bandwidth.value,
            h100.nvlink_link_bandwidth.value * static_cast<double>(h100.nvlink_links));
  EXPECT_FALSE(link->as_measured) << "nothing was";
}

// A byte of an all_reduce leaves a node once, by all NICs that its ranks use; of all_to_all a rank
// sends (n - r) / (n - 1) of what is counted by its own.
TEST(DataSheetLink, OfSeveralHostsItIsTheirNics) {
  const auto reduced = data_sheet_link(run_of("all_reduce", 16, 2), "h100-sxm");
  const auto dealt = data_sheet_link(run_of("all_to_all", 16, 2), "h100-sxm");
  ASSERT_TRUE(reduced && dealt);
  EXPECT_EQ(reduced->kind, DataSheetLink::Kind::kNic);
  EXPECT_EQ(reduced->nics, 8);
  const double nic = reduced->bandwidth.value / 8;
  EXPECT_DOUBLE_EQ(dealt->crossing, 8.0 / 15);
  EXPECT_NEAR(dealt->bandwidth.value, nic / dealt->crossing, 1e-6 * nic);
  EXPECT_EQ(data_sheet_link(run_of("send_recv", 16, 2), "h100-sxm")->bandwidth.value, nic);
}

TEST(DataSheetLink, ThereIsNoneOfADeviceThatIsNotSaid) {
  EXPECT_FALSE(data_sheet_link(run_of("all_reduce", 8, 1), ""));
  EXPECT_THROW(data_sheet_link(run_of("all_reduce", 8, 1), "h1000"), InputError);
}

}  // namespace plait::data_sheet_link_test
