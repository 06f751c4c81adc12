// Measurements of communication: what they report hangs together. Speeds are not tested.
#include <gtest/gtest.h>

#include "realrun/bench/messages.h"
#include "tests/realrun/worlds.h"

namespace plait {
namespace {

TEST(BenchMessages, AMessageTakesAtLeastItsProcessorTime) {
  for (const char* transport : {"threads", "tcp"}) {
    std::optional<MessageSample> sample;
    const std::string failure = run_world(transport, 3, [&](Transport& t) {
      std::optional<MessageSample> s = measure_message(t, 65536, 9, 10);
      EXPECT_EQ(s.has_value(), t.rank() == 0);
      if (s) sample = s;
    });
    ASSERT_EQ(failure, "");
    EXPECT_EQ(sample->bytes, 65536);
    EXPECT_EQ(sample->repeats, 9);
    EXPECT_GT(sample->send_cpu_s, 0);
    EXPECT_GT(sample->receive_cpu_s, 0);
    EXPECT_GE(sample->sent_s, 0.5 * sample->send_cpu_s);
    EXPECT_GT(2 * sample->half_round_trip_s, sample->sent_s);
  }
}

TEST(BenchMessages, BusBandwidthFollowsNcclTests) {
  CollectiveSample s;
  s.ranks = 4, s.bytes = 1000, s.median_s = 1;
  s.kind = CollectiveKind::kAllReduce;
  EXPECT_DOUBLE_EQ(s.busbw(), 1000 * 2 * 3.0 / 4);
  s.kind = CollectiveKind::kAllGather;
  EXPECT_DOUBLE_EQ(s.busbw(), 1000 * 3.0 / 4);
}

TEST(BenchMessages, CollectivesOfEveryKindAreMeasured) {
  for (CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    for (bool in_place : {true, false}) {
      if (kind == CollectiveKind::kAllReduce && !in_place) continue;
      std::optional<CollectiveSample> sample;
      EXPECT_EQ(run_world("threads", 3,
                          [&](Transport& t) {
                            auto s = measure_collective(t, kind, in_place, 12000, 5, 10);
                            if (s) sample = s;
                          }),
                "");
      ASSERT_TRUE(sample);
      EXPECT_EQ(sample->bytes, 12000);
      EXPECT_LE(sample->p10_s, sample->median_s);
      EXPECT_LE(sample->median_s, sample->p90_s);
    }
  }
}

TEST(BenchMessages, WakeAndCombineTakeTime) {
  EXPECT_EQ(run_world("threads", 1, [](Transport& t) { EXPECT_GT(measure_wake(t, 20), 0); }), "");
  EXPECT_GT(measure_combine(1 << 22, 3), measure_combine(1 << 12, 3));
}

}  // namespace
}  // namespace plait
