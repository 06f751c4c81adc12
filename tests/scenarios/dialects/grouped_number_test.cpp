// Digits in groups, as Python and TOML write them.

#include "scenarios/dialects/grouped_number.h"

#include "tests/scenarios/dialects/imported.h"

namespace plait::grouped_number_test {

TEST(GroupedNumber, OnlyBetweenDigits) {
  EXPECT_EQ(parse_grouped_number<std::int64_t>("220_000_000"), 220'000'000);
  EXPECT_EQ(parse_grouped_number<double>("1_000.2_5"), 1000.25);
  for (const char* text : {"_1", "1_", "1__0", "1_.5", "_"}) {
    EXPECT_EQ(parse_grouped_number<double>(text), std::nullopt) << text;
  }
}

TEST(GroupedNumber, OptionsAndKeysHaveThem) {
  using import_test::imported;
  const Scenario args = imported(
      Dialect::kMegatronCore,
      "--seq-length 4_096 --micro-batch-size 1 --global-batch-size 64 --train-samples 1_000");
  EXPECT_EQ(args.workload.sequence_length, 4096);
  EXPECT_EQ(args.training->tokens, 1000 * 4096);
  const Scenario toml =
      imported(Dialect::kTorchtitan,
               "[training]\nseq_len = 8_192\nlocal_batch_size = 1\nmax_norm = 1_0.5\n");
  EXPECT_EQ(toml.workload.sequence_length, 8192);
}

}  // namespace plait::grouped_number_test
