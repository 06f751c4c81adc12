#include "core/spelling.h"

#include <gtest/gtest.h>

namespace plait::spelling_test {

using Names = std::vector<std::string>;

const Names kDevices = {"a100-40-sxm", "a100-80-sxm", "b200", "h100-96-sxm", "h100-sxm"};

TEST(NamesLike, FindsTyposAndNothingElse) {
  EXPECT_EQ(names_like("spoke", {"rim", "spokes"}), Names{"spokes"});
  EXPECT_EQ(names_like("hlep", {"help", "plan"}), Names{"help"});
  EXPECT_EQ(names_like("zzz", {"rim", "spokes"}), Names{});
}

TEST(NamesLike, AnotherNumberIsNoSlip) {
  EXPECT_EQ(names_like("rtx-3090", {"rtx-3090-ti", "rtx-4090"}), Names{"rtx-3090-ti"});
  EXPECT_EQ(names_like("llama3-8b", {"llama-2-7b", "llama-3.1-8b"}), Names{"llama-3.1-8b"});
}

/// The device that people mean is one of those whose name has their word, not one that is as short.
TEST(NamesLike, APartOfANameIsMeantSoonerThanAnotherShortName) {
  EXPECT_EQ(names_like("h100", kDevices), (Names{"h100-96-sxm", "h100-sxm"}));
  EXPECT_EQ(names_like("A100-40", kDevices), Names{"a100-40-sxm"});
  EXPECT_EQ(names_like("100", kDevices), Names{});
}

TEST(NamesLike, CaseJointsAndOwnersMakeNoDifference) {
  EXPECT_EQ(names_like("H100_SXM", kDevices), Names{"h100-sxm"});
  EXPECT_EQ(names_like("meta-llama/Llama-3.1-8B-Instruct", {"llama-3.1-70b", "llama-3.1-8b"}),
            Names{"llama-3.1-8b"});
}

TEST(DidYouMean, JoinsWhatIsAlike) {
  EXPECT_EQ(did_you_mean("a100", kDevices), R"(did you mean "a100-40-sxm" or "a100-80-sxm"?)");
  EXPECT_EQ(did_you_mean("tpu", kDevices), "");
}

}  // namespace plait::spelling_test
