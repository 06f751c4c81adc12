#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "plan/walk.h"
#include "reports/html/timeline.h"
#include "reports/memory_curve.h"
#include "tests/reports/made_up.h"

namespace plait::html_timeline_test {

using Tree = nlohmann::json;

Tree timeline_of(const MadeUp& m) {
  return Tree::parse(timeline_json({m.plan, m.timeline, "simulated"}));
}

TEST(PageTimeline, GapsAndDurationsGiveBackWhenEachOpRan) {
  const MadeUp m;
  const Tree t = timeline_of(m);
  EXPECT_EQ(t["step_ns"], m.timeline.step_time / 1000);
  ASSERT_EQ(t["tracks"].size(), m.timeline.tracks.size());
  for (std::size_t k = 0; k < t["tracks"].size(); ++k) {
    const Track& track = m.timeline.tracks[k];
    const Tree& shown = t["tracks"][k];
    std::map<Stream, std::int64_t> now;
    for_each_op(m.plan, static_cast<std::size_t>(track.stage),
                [&](std::int64_t flat, const Call&, const Op& op) {
                  const auto i = static_cast<std::size_t>(flat);
                  now[op.stream] += shown["gaps_ns"][i].get<std::int64_t>();
                  EXPECT_EQ(now[op.stream], track.start[i] / 1000);
                  now[op.stream] += shown["durations_ns"][i].get<std::int64_t>();
                  EXPECT_EQ(now[op.stream], track.end[i] / 1000);
                });
  }
}

TEST(PageTimeline, CallsNameTheBlocksOfTheProgram) {
  const MadeUp m;
  const Tree t = timeline_of(m);
  for (std::size_t stage = 0; stage < m.plan.programs.size(); ++stage) {
    const Tree& calls = t["calls"][std::to_string(stage)];
    ASSERT_EQ(calls.size(), 4 * m.plan.programs[stage].calls.size());
    for (std::size_t c = 0; c < m.plan.programs[stage].calls.size(); ++c) {
      EXPECT_EQ(calls[4 * c], m.plan.programs[stage].calls[c].block);
      EXPECT_EQ(calls[4 * c + 2], m.plan.programs[stage].calls[c].microbatch);
    }
  }
}

/// However few spans there is room for, the stages that the answer speaks of stand on the page.
TEST(PageTimeline, TheFirstAndTheFullestStageAreAlwaysShown) {
  MadeUp m;
  const auto stages = [&m](std::int64_t fullest) {
    TimelineInputs in{m.plan, m.timeline, "simulated"};
    in.most_spans = 1, in.fullest_stage = fullest;
    std::vector<std::int64_t> out;
    const Tree page = Tree::parse(timeline_json(in));
    for (const Tree& t : page["tracks"]) out.push_back(t["stage"]);
    return out;
  };
  EXPECT_EQ(stages(0), std::vector<std::int64_t>{0});
  EXPECT_EQ(stages(1), (std::vector<std::int64_t>{0, 1}));
}

std::vector<MemorySample> saw_tooth(std::size_t samples) {
  std::vector<MemorySample> out;
  for (std::size_t i = 0; i < samples; ++i) {
    MemorySample s{static_cast<SimTime>(10 * i), {}, {}};
    s.live[0] = Bytes(i == samples / 2 ? 1000 : static_cast<std::int64_t>(i % 7));
    out.push_back(s);
  }
  return out;
}

TEST(MemoryCurve, ThinningKeepsThePeakAndTheOrder) {
  const std::vector<MemorySample> all = saw_tooth(10'000), few = thinned(all, 100);
  EXPECT_LE(few.size(), 101U);
  std::int64_t peak = 0;
  for (std::size_t i = 0; i < few.size(); ++i) {
    peak = std::max(peak, few[i].sum().value);
    if (i > 0) {
      EXPECT_LT(few[i - 1].time, few[i].time);
    }
  }
  EXPECT_EQ(peak, 1000);
}

TEST(MemoryCurve, FewSamplesStayAsTheyAre) { EXPECT_EQ(thinned(saw_tooth(50), 100).size(), 50U); }

/// Both ranks of a stage, on devices of their own; memory is known for the one with the least.
TEST(PageTimeline, EachKindOfDeviceOfAStageIsShown) {
  MadeUp m;
  m.timeline.tracks.resize(1);
  m.timeline.tracks.push_back(m.timeline.tracks[0]);
  m.timeline.tracks[1].rank = 1;
  TimelineInputs in{m.plan, m.timeline, "simulated"};
  EXPECT_EQ(Tree::parse(timeline_json(in))["tracks"].size(), 1U);
  in.devices = {"small", "large", "small", "small"};
  const Tree shown = Tree::parse(timeline_json(in))["tracks"];
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(shown[0]["kind"], "small");
  EXPECT_EQ(shown[1]["kind"], "large");
  const Tree memory = Tree::parse(memory_json(in, m.memory));
  ASSERT_EQ(memory.size(), 1U);
  EXPECT_EQ(memory[0]["rank"], 0);
}

}  // namespace plait::html_timeline_test
