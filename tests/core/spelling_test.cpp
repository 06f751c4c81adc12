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

TEST(NamesLike, AnotherLetterBesideANumberIsNoSlip) {
  EXPECT_EQ(names_like("dgx-h100", {"dgx-a100", "dgx-2", "hgx-h100"}), Names{"hgx-h100"});
  EXPECT_EQ(names_like("gb200", {"gb200-nvl72", "gh200", "gh200-4"}), Names{"gb200-nvl72"});
  EXPECT_EQ(names_like("hgz-h100", {"dgx-a100", "hgx-h100"}), Names{"hgx-h100"});
}

TEST(NamesLike, ALetterForADigitIsASlip) {
  EXPECT_EQ(names_like("S01O", {"S010", "S020"}), Names{"S010"});
}

TEST(NamesLike, OfEquallyNearNamesTheOneThatBeginsAlike) {
  EXPECT_EQ(names_like("llama-3-70b", {"llama-2-70b", "llama-3.1-70b"}), Names{"llama-3.1-70b"});
  EXPECT_EQ(names_like("meta-llama/Meta-Llama-3-8B", {"llama-2-7b", "llama-3.1-8b"}),
            Names{"llama-3.1-8b"});
}

TEST(NamesLike, ACountIsNoPartOfAName) {
  EXPECT_EQ(names_like("8xh100", {"hgx-a100", "hgx-h100"}), Names{"hgx-h100"});
  EXPECT_EQ(names_like("8x7b", {"mixtral-8x7b", "llama-2-7b"}), Names{"mixtral-8x7b"});
}

TEST(NamesLike, GpusAreDevices) {
  EXPECT_EQ(names_like("gpus_per_node", {"node", "nodes", "devices_per_node"}),
            Names{"devices_per_node"});
}

/// The device that people mean is one of those whose name has their word, not one that is as short.
TEST(NamesLike, APartOfANameIsMeantSoonerThanAnotherShortName) {
  EXPECT_EQ(names_like("h100", kDevices), (Names{"h100-sxm", "h100-96-sxm"}));
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

TEST(SlipOf, IsAsFarAsALetterOrOfLongNamesTwo) {
  const Names options = {"--lr", "--num-layers", "--num-attention-heads"};
  EXPECT_EQ(slip_of("--num-layrs", options), "--num-layers");
  EXPECT_EQ(slip_of("--num-atention-head", options), "--num-attention-heads");
  EXPECT_EQ(slip_of("--lr-min", options), "");
  EXPECT_EQ(slip_of("--num-lay", options), "");
}

}  // namespace plait::spelling_test
