#include "reports/trace.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/reports/made_up.h"

namespace plait::trace_test {

using Event = nlohmann::json;

nlohmann::json trace_of(const MadeUp& m, std::vector<std::int64_t> ranks = {}) {
  std::string text;
  write_trace({m.plan, m.timeline, m.memory, {}, std::move(ranks)},
              [&](std::string_view part) { text += part; });
  return nlohmann::json::parse(text);
}

std::vector<Event> events(const nlohmann::json& trace, const std::string& kind) {
  std::vector<Event> out;
  for (const Event& e : trace["traceEvents"]) {
    if (e["ph"] == kind) out.push_back(e);
  }
  return out;
}

std::int64_t ns(const Event& value) { return std::llround(value.get<double>() * 1000); }

TEST(Trace, OneProcessPerTrackAndOneThreadPerUsedStreamAndForPhases) {
  std::map<int, std::string> processes;
  std::map<int, int> threads;
  for (const Event& e : events(trace_of(MadeUp()), "M")) {
    if (e["name"] == "process_name")
      processes[e["pid"].get<int>()] = e["args"]["name"].get<std::string>();
    if (e["name"] == "thread_name") ++threads[e["pid"].get<int>()];
  }
  EXPECT_EQ(processes[0], "rank 0 (stage 0, stands for 2 ranks)");
  EXPECT_EQ(processes[2], "rank 2 (stage 1, stands for 2 ranks)");
  EXPECT_EQ(threads, (std::map<int, int>{{0, 4}, {2, 4}}));
}

TEST(Trace, SlicesSayWhenOpsRan) {
  bool found = false;
  for (const Event& e : events(trace_of(MadeUp()), "X")) {
    if (e["name"] != "send") continue;
    found = true;
    EXPECT_EQ(ns(e["ts"]), 1000);
    EXPECT_EQ(ns(e["dur"]), 500);
    EXPECT_EQ(e["args"]["bytes"], 2000);
    EXPECT_EQ(e["args"]["layer"], 0);
  }
  EXPECT_TRUE(found);
}

TEST(Trace, SlicesOfOneThreadNeverOverlap) {
  MadeUp m;
  m.plan.programs[0].calls.push_back(m.plan.programs[0].calls[0]);  // a second round
  Track& t = m.timeline.tracks[0];
  // The second matmul starts half a nanosecond after the first ends, the rest follows.
  for (int i = 0; i < 3; ++i) {
    t.start.push_back(t.start[static_cast<std::size_t>(i)] + 3000 * kNs + 500);
    t.end.push_back(t.end[static_cast<std::size_t>(i)] + 3000 * kNs + 700);
  }
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> threads;
  for (const Event& e : events(trace_of(m), "X")) {
    const std::int64_t start = ns(e["ts"]);
    threads[{e["pid"].get<int>(), e["tid"].get<int>()}].emplace_back(start, start + ns(e["dur"]));
  }
  for (const auto& [thread, spans] : threads) {
    for (const auto& a : spans) {
      for (const auto& b : spans) {
        if (&a == &b) continue;
        EXPECT_TRUE(a.second <= b.first || b.second <= a.first);
      }
    }
  }
}

TEST(Trace, PhasesOfTheComputeStreamHaveTheirOwnThread) {
  std::map<int, std::string> frames;
  for (const Event& e : events(trace_of(MadeUp()), "X")) {
    if (e["args"].contains("block")) frames[e["pid"].get<int>()] = e["name"].get<std::string>();
  }
  EXPECT_EQ(frames, (std::map<int, std::string>{{0, "fwd"}, {2, "bwd"}}));
}

TEST(Trace, EveryArrowLeavesASendAndArrivesInTheMatchingRecv) {
  const nlohmann::json trace = trace_of(MadeUp());
  const std::vector<Event> tails = events(trace, "s"), heads = events(trace, "f");
  ASSERT_EQ(tails.size(), 1U);
  ASSERT_EQ(heads.size(), 1U);
  EXPECT_EQ(tails[0]["id"], heads[0]["id"]);
  EXPECT_EQ(tails[0]["pid"], 0);
  EXPECT_EQ(heads[0]["pid"], 2);
  EXPECT_EQ(ns(tails[0]["ts"]), 1000);  // in the send, which runs from 1000 to 1500
  EXPECT_EQ(ns(heads[0]["ts"]), 1000);  // in the recv, likewise
  EXPECT_EQ(heads[0]["bp"], "e");
}

TEST(Trace, MessagesOfDifferentMicrobatchesDoNotCross) {
  MadeUp m;
  // Two microbatches, received in the other order.
  for (Program& p : m.plan.programs) p.calls.push_back(p.calls[0]);
  m.plan.programs[0].calls[1].microbatch = 1;
  m.plan.programs[1].calls[0].microbatch = 1;
  for (Track& t : m.timeline.tracks) {
    for (int i = 0; i < 3; ++i) {
      t.start.push_back(t.start[static_cast<std::size_t>(i)] + 3000 * kNs);
      t.end.push_back(t.end[static_cast<std::size_t>(i)] + 3000 * kNs);
    }
  }
  std::map<std::int64_t, std::int64_t> arrival_of;  // ns of departure -> ns of arrival
  std::map<int, std::int64_t> departure;
  const nlohmann::json trace = trace_of(m);
  for (const Event& e : events(trace, "s")) departure[e["id"].get<int>()] = ns(e["ts"]);
  for (const Event& e : events(trace, "f"))
    arrival_of[departure.at(e["id"].get<int>())] = ns(e["ts"]);
  // Microbatch 0 leaves at 1000 and is received in the second recv, from 4000 on; microbatch 1
  // leaves at 4000 and the arrow does not point back in time.
  EXPECT_EQ(arrival_of, (std::map<std::int64_t, std::int64_t>{{1000, 4000}, {4000, 4000}}));
}

TEST(Trace, MemoryStepsWithTheComputeOps) {
  const std::vector<Event> counters = events(trace_of(MadeUp()), "C");
  ASSERT_EQ(counters.size(), 2U);  // stage 0 has a curve of two points, stage 1 has none
  EXPECT_EQ(ns(counters[0]["ts"]), 0);
  EXPECT_EQ(counters[0]["args"]["weight"], 100);
  EXPECT_EQ(counters[0]["args"]["overheads"], 150);
  EXPECT_EQ(counters[1]["args"]["activation"], 300);
  EXPECT_EQ(ns(counters[1]["ts"]), 3000);  // no compute op follows the second point
}

TEST(Trace, OverheadsBesideOpsComeAndGoAndTheFullestSampleHasAll) {
  MadeUp m;
  m.memory[0].live.curve[0].beside = Bytes(120);  // 300 + 120, and 600 + 40
  m.memory[0].live.curve[1].beside = Bytes(40);
  const std::vector<Event> counters = events(trace_of(m), "C");
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[0]["args"]["overheads"], 150 - 40 + 120);
  EXPECT_EQ(counters[1]["args"]["overheads"], 150);
}

TEST(Trace, OfManyTracksOfAStageTheSlowestIsShown) {
  MadeUp m;
  Track slow = m.timeline.tracks[0];
  slow.rank = 1;
  slow.end[2] += 1;
  m.timeline.tracks.insert(m.timeline.tracks.begin() + 1, slow);
  std::map<int, int> slices;
  for (const Event& e : events(trace_of(m), "X")) ++slices[e["pid"].get<int>()];
  EXPECT_EQ(slices.count(0), 0U);
  EXPECT_EQ(slices.count(1), 1U);
  slices.clear();
  for (const Event& e : events(trace_of(m, {0}), "X")) ++slices[e["pid"].get<int>()];
  EXPECT_EQ(slices.size(), 1U);
  EXPECT_EQ(slices.count(0), 1U);
}

TEST(Trace, ARankThatThereIsNotIsRefusedWithThoseThatThereAre) {
  try {
    trace_of(MadeUp(), {99});
    FAIL() << "there are 4 ranks";
  } catch (const InputError& error) {
    EXPECT_EQ(error.text().code, "G022");
    EXPECT_EQ(error.text().expected, "ranks from 0 to 3");
  }
}

TEST(Trace, ARankWithoutATrackIsRefused) { EXPECT_THROW(trace_of(MadeUp(), {3}), InputError); }

/// Ranks 0 and 1 are a stage; rank 1 serves what rank 0 works with.
MadeUp with_a_server() {
  MadeUp m;
  m.plan.servers = {.count = 1, .dedicated = true};
  Track server = m.timeline.tracks[0];
  m.timeline.tracks[0].multiplicity = server.multiplicity = 1, server.rank = 1;
  m.timeline.tracks.insert(m.timeline.tracks.begin() + 1, server);
  for (StageUse& use : m.memory) {
    use.roles = {{{true, false}, use.live.peak, use.live.curve, use.overheads},
                 {{false, true}, Bytes(7), {{0, {Bytes(7)}}}, {}}};
  }
  return m;
}

TEST(Trace, EachRoleOfAStageIsShownWithItsOwnMemory) {
  const nlohmann::json trace = trace_of(with_a_server());
  std::map<int, std::string> names;
  for (const Event& e : events(trace, "M")) {
    if (e["name"] == "process_name")
      names[e["pid"].get<int>()] = e["args"]["name"].get<std::string>();
  }
  EXPECT_EQ(names[0], "rank 0 (stage 0, worker)");
  EXPECT_EQ(names[1], "rank 1 (stage 0, server)");
  std::map<int, std::int64_t> most;
  for (const Event& e : events(trace, "C")) {
    std::int64_t sum = 0;
    for (const auto& bytes : e["args"]) sum += bytes.get<std::int64_t>();
    std::int64_t& peak = most[e["pid"].get<int>()];
    peak = std::max(peak, sum);
  }
  EXPECT_EQ(most[0], 750);
  EXPECT_EQ(most[1], 7);
}

}  // namespace plait::trace_test
