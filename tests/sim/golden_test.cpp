// Timelines of five tiny plans on H100s, as text in tests/golden/timeline/: a changed prediction
// changes them. PLAIT_UPDATE_GOLDEN=1 writes them anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "sim/causes.h"
#include "sim/explain.h"
#include "sim/simulate.h"
#include "tests/sim/cases.h"

namespace plait::golden_test {

/// Per represented rank and stream: start, end (ps), kernel, block, layer and microbatch.
std::string text_of(const Plan& plan, const Timeline& timeline) {
  std::string out = fmt::format("step {}\n", timeline.step_time);
  for (const Track& track : timeline.tracks) {
    const auto stage = static_cast<std::size_t>(track.stage);
    out += fmt::format("\nrank {} of stage {}, one of {}\n", track.rank, track.stage,
                       track.multiplicity);
    const std::vector<OpSite> sites = flat_ops(plan, stage);
    for (int s = 0; s < kStreams; ++s) {
      std::string lines;
      for (std::size_t i = 0; i < sites.size(); ++i) {
        const Call& call = plan.programs[stage].calls[sites[i].call];
        const Op& op = plan.blocks[call.block].ops[sites[i].op];
        if (op.stream != static_cast<Stream>(s)) continue;
        lines +=
            fmt::format("{:>12} {:>12}  {:<14} {} {} {}\n", track.start[i], track.end[i],
                        name_of(op), plan.blocks[call.block].name, call.layer, call.microbatch);
      }
      if (!lines.empty()) out += fmt::format("{}\n{}", name_of(static_cast<Stream>(s)), lines);
    }
  }
  return out;
}

Case shrunk(Case c) {
  c.model.layers = 2;
  return c;
}
Case one_device() { return shrunk(small_case(1, 1, 1, 1)); }
Case data_parallel() {
  Case c = shrunk(small_case(1, 2, 1, 1));
  c.strategy.data.bucket = Bytes(300 * 1000);
  return c;
}
Case fully_sharded() {
  Case c = shrunk(small_case(1, 1, 2, 1));
  c.strategy.recompute.kind = Recompute::kFull;
  return c;
}
Case tensor_and_sequence() {
  Case c = shrunk(small_case(1, 1, 1, 2));
  c.strategy.sequence_parallel = true;
  return c;
}
Case pipeline_with_straggler() {
  Case c = shrunk(small_case(2, 2, 1, 1));
  c.machine.nodes = 2;
  c.machine.devices_per_node = 2;
  c.machine.slowdowns = {{1, 1.25}};
  return c;
}

struct Golden {
  const char* name;
  Case (*make)();
};
void PrintTo(const Golden& g, std::ostream* out) { *out << g.name; }
constexpr Golden kGolden[] = {{"one_device", one_device},
                              {"data_parallel", data_parallel},
                              {"fully_sharded", fully_sharded},
                              {"tensor_and_sequence", tensor_and_sequence},
                              {"pipeline_with_straggler", pipeline_with_straggler}};

std::string timeline_of(const Golden& g) {
  const Case c = g.make();
  const Plan plan = c.plan();
  return text_of(plan, simulate(plan, c.cluster(), {}).timeline);
}

class Timelines : public testing::TestWithParam<Golden> {};
TEST_P(Timelines, AreAsRecorded) {
  const std::string path =
      std::string(PLAIT_SOURCE_DIR "/tests/golden/timeline/") + GetParam().name + ".txt";
  const std::string now = timeline_of(GetParam());
  if (std::getenv("PLAIT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << now;
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << " is missing; PLAIT_UPDATE_GOLDEN=1 writes it";
  std::ostringstream recorded;
  recorded << file.rdbuf();
  EXPECT_EQ(now, recorded.str()) << "a prediction changed; PLAIT_UPDATE_GOLDEN=1 accepts it";
}
INSTANTIATE_TEST_SUITE_P(Golden, Timelines, testing::ValuesIn(kGolden),
                         [](const auto& golden) { return std::string(golden.param.name); });

TEST(Determinism, TimelinesDoNotDependOnThreads) {
  std::string alone, left, right;
  const auto all = [](std::string& out) {
    for (const Golden& g : kGolden) out += timeline_of(g);
  };
  all(alone);
  std::thread first(all, std::ref(left)), second(all, std::ref(right));
  first.join(), second.join();
  EXPECT_EQ(left, alone);
  EXPECT_EQ(right, alone);
}

TEST(Determinism, TimesDoNotDependOnWhetherTheyAreRecorded) {
  for (const Golden& g : kGolden) {
    const Case c = g.make();
    const Plan plan = c.plan();
    SimulationOptions options;
    const SimTime recorded = simulate(plan, c.cluster(), {}, options).timeline.step_time;
    options.record = false;
    const Simulation bare = simulate(plan, c.cluster(), {}, options);
    EXPECT_EQ(bare.timeline.step_time, recorded) << g.name;
    EXPECT_TRUE(bare.timeline.tracks.empty()) << g.name;
  }
}

}  // namespace plait::golden_test
