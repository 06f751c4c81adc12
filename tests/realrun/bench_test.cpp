// The measuring of machines: what it does, not how fast the machine is.

#include "realrun/bench/bench.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/error.h"
#include "core/file.h"
#include "model/op_json.h"
#include "realrun/bench/kernel_call.h"
#include "realrun/bench/machine.h"
#include "realrun/bench/ping_pong.h"
#include "realrun/bench/quiet.h"
#include "realrun/bench/timed_collective.h"
#include "realrun/bench/timing.h"
#include "realrun/op_time.h"
#include "tests/realrun/worlds.h"

namespace plait::bench_test {

class BenchFolder : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string text(const std::string& file) { return read_text_file(file); }

 private:
  std::string folder_ = testing::TempDir() + "plaitXXXXXX";
};

RunRow a_run(const std::string& bench = "compute") {
  RunRow run;
  run.bench = bench, run.processor = "cpu", run.host = "box";
  return run;
}
KernelRow a_row(std::int64_t elements) {
  KernelRow row;
  row.op = Fill{elements, DType::kFp32};
  row.cpu.median = 1e-6;
  return row;
}

// ---- files of rows

using Rows = BenchFolder;

TEST_F(Rows, ARerunGoesOnBehindTheRowsThatAreThere) {
  { RowsFile(path("raw"), a_run()).add(a_row(1)); }
  RowsFile again(path("raw"), a_run());
  EXPECT_EQ(again.found(), 2U);
  EXPECT_TRUE(again.has(a_row(1)));
  EXPECT_FALSE(again.has(a_row(2)));
  again.add(a_row(2));
  const std::vector<Row> rows = parse_rows(text(path("raw")), "raw");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<RunRow>(rows[0]));
  EXPECT_EQ(identity_of(rows[2]), identity_of(a_row(2)));
}

TEST_F(Rows, APartOfARowIsDropped) {
  { RowsFile(path("raw"), a_run()).add(a_row(1)); }
  const std::string whole = text(path("raw"));
  std::ofstream(path("raw"), std::ios::app) << R"({"kind":"kernel","calls)";
  RowsFile again(path("raw"), a_run());
  EXPECT_EQ(text(path("raw")), whole);
  again.add(a_row(2));
  EXPECT_EQ(parse_rows(text(path("raw")), "raw").size(), 3U);
}

TEST_F(Rows, AnotherMachinesFileIsNotGoneOnWith) {
  { RowsFile(path("raw"), a_run()).add(a_row(1)); }
  const std::string before = text(path("raw"));
  RunRow processor = a_run(), host = a_run();
  processor.processor = "another", host.host = "another";
  for (const RunRow& other : {a_run("copy"), processor, host}) {
    try {
      RowsFile(path("raw"), other);
      ADD_FAILURE();
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, "K004");
    }
  }
  EXPECT_EQ(text(path("raw")), before);
}

TEST_F(Rows, AFileOfOtherOptionsIsNotGoneOnWith) {
  RunRow begun = a_run();
  begun.command = "plait bench compute --threads 2 -o raw", begun.threads = 2;
  { RowsFile(path("raw"), begun).add(a_row(1)); }
  RunRow threads = begun, quick = begun, same = begun;
  threads.threads = 1;
  quick.command = "plait bench compute --threads 2 -o raw --quick";
  same.command = "plait bench compute --seconds 9 --threads 2 -o raw";
  for (const auto& [other, said] : {std::pair(threads, "--threads 2, and this is 1"),
                                    std::pair(quick, "--quick off, and this is on")}) {
    try {
      RowsFile(path("raw"), other);
      ADD_FAILURE();
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, "K004");
      EXPECT_NE(e.text().problem.find(said), std::string::npos) << e.text().problem;
    }
  }
  EXPECT_EQ(RowsFile(path("raw"), same).found(), 2U);
}

TEST_F(Rows, AFullDiskIsTheMachinesFault) {
  EXPECT_THROW(RowsFile("/dev/full", a_run()), EnvironmentError);
  EXPECT_THROW(RowsFile(path("missing") + "/raw", a_run()), EnvironmentError);
}

// ---- the grid

TEST(Grid, IsTheSameEachTimeAndRepeatsNothing) {
  for (GridSize size : {GridSize::kFull, GridSize::kQuick}) {
    std::vector<std::string> first, second;
    for (const Compute& op : compute_grid(processor_extents(size))) first.push_back(to_json(op));
    for (const Compute& op : compute_grid(processor_extents(size))) second.push_back(to_json(op));
    EXPECT_EQ(first, second);
    EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), first.size());
  }
}

TEST(Grid, HasEveryKindOfKernelInBothPasses) {
  std::map<std::string_view, std::set<Pass>> passes;
  for (const Compute& op : compute_grid(processor_extents(GridSize::kQuick))) {
    passes[kernel_name(op)].insert(pass_of(op));
  }
  constexpr std::size_t kOfExperts = 3;  // route, dispatch, combine: not measured alone
  constexpr std::size_t kOfLatents = 1;  // nor are rows of latent attention
  constexpr std::size_t kOfHeads = 1;    // whose norms are of the class of other norms
  constexpr std::size_t kOfScales = 1;   // magnitudes of weights in 8 bits
  constexpr std::size_t kOfStates = 4;   // causal_conv, scan, delta_rule, gated_norm
  constexpr std::size_t kOfGates = 1;
  EXPECT_EQ(passes.size(), std::variant_size_v<Compute> - kOfExperts - kOfLatents - kOfHeads -
                               kOfScales - kOfStates - kOfGates);
  for (const char* both : {"attention", "norm", "activation", "rope", "embedding", "add"}) {
    EXPECT_EQ(passes[both], (std::set<Pass>{Pass::kForward, Pass::kBackward})) << both;
  }
  EXPECT_EQ(passes["matmul"].size(), 3U);
}

TEST(Grid, EveryOpFitsThePool) {
  OperandPool pool(8 << 20);
  for (const Compute& op : compute_grid(processor_extents(GridSize::kQuick))) {
    EXPECT_NO_THROW(kernel_call(op, pool)()) << to_json(op);
  }
}

// ---- operands and timing

TEST(OperandPool, OperandsAreApartUntilTheBufferIsThrough) {
  constexpr std::int64_t kBytes = 1 << 18, kElements = 1000;
  OperandPool pool(kBytes);
  const float* const first = pool.input(kElements);
  const float* last = first;
  for (const float* next = pool.input(kElements); next > last; next = pool.input(kElements)) {
    EXPECT_GE(next - last, kElements);
    last = next;
  }
  constexpr std::int64_t kGap = 4096 / 4;  // at most, between two operands
  EXPECT_GT(last + 2 * kElements + 2 * kGap - first, kBytes / 4) << "all of the buffer was used";
}

TEST(OperandPool, OperandsDoNotAlwaysLieAlikeInTheirPages) {
  OperandPool pool(1 << 20);
  std::set<std::uintptr_t> places;
  for (int i = 0; i < 64; ++i) {
    places.insert(reinterpret_cast<std::uintptr_t>(pool.input(1024)) % 4096);
  }
  EXPECT_GT(places.size(), 16U);
}

TEST(OperandPool, TokensAreInTheVocabulary) {
  OperandPool pool(1 << 16);
  for (std::int64_t vocab : {7, 300, 7}) {
    const std::int64_t* tokens = pool.tokens(500, vocab);
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(tokens[i] >= 0 && tokens[i] < vocab);
  }
}

TEST(Timing, SpreadIsByNearestRank) {
  const Spread s = spread_of({5, 1, 4, 2, 3, 10, 9, 8, 7, 6});
  EXPECT_EQ(s.median, 5.5);
  EXPECT_EQ(s.p10, 1);  // one of ten is at most 1
  EXPECT_EQ(s.p90, 9);
  EXPECT_EQ(spread_of({3}).median, 3);
}

TEST(Timing, ShortCallsAreTimedTogether) {
  int calls = 0;
  TimingOptions options;
  options.seconds = 0;
  const Timed t = time_calls([&] { ++calls; }, options);
  EXPECT_EQ(t.repeats, options.least_repeats);
  EXPECT_GT(t.calls, 1);
  EXPECT_EQ(calls, 1 + t.repeats * t.calls) << "one call before that does not count";
  EXPECT_LE(t.cpu.p10, t.cpu.p90);
}

// ---- quietness

TEST(Quiet, WordsNameWhatIsBeyondTheLimits) {
  EXPECT_EQ(words_for({}), "quiet");
  EXPECT_EQ(words_for({.core_to_core_ns = 60}), "quiet");
  EXPECT_EQ(words_for({.stolen = 0.12}), "noisy: 12 % stolen");
  EXPECT_EQ(words_for({.core_to_core_ns = 5000, .jitter = 0.3}),
            "noisy: 30 % jitter, 5000 ns between cores");
  EXPECT_EQ(words_for({.busy = 1}), "noisy: 100 % busy");
}

TEST(Quiet, TheProbeAnswersInTime) {
  const std::int64_t start = now_ns();
  const Quietness q = probe_quietness(0.02);
  EXPECT_LT(now_ns() - start, 5'000'000'000);
  EXPECT_GE(q.stolen, 0);
  EXPECT_LE(q.stolen, 1);
  EXPECT_GE(q.core_to_core_ns, 0);
  EXPECT_GE(q.jitter, 0);
}

TEST(Machine, IsDescribed) {
  const RunRow run = describe_run("copy", "1", "plait bench copy", {});
  EXPECT_EQ(run.bench, "copy");
  EXPECT_GT(run.cores, 0);
  EXPECT_NE(run.blas.find("OpenBLAS"), std::string::npos);
  EXPECT_EQ(run.date.size(), std::string("2026-01-02T03:04:05Z").size());
  EXPECT_EQ(run.quiet, "quiet");
}

// ---- messages

TEST(PingPong, BothSidesCountEveryMessage) {
  for (const char* transport : {"threads", "tcp"}) {
    EXPECT_EQ(run_world(transport, 2,
                        [](Transport& t) {
                          const PingPong p = ping_pong(t, 1000, 7);
                          EXPECT_EQ(p.one_way.size(), 7U);
                          EXPECT_EQ(p.send_cpu.size(), 7U);
                          EXPECT_EQ(p.receive_cpu.size(), 7U);
                          for (double s : p.one_way) EXPECT_GT(s, 0);
                        }),
              "");
  }
}

TEST(TimedCollective, OnlyMembersWork) {
  EXPECT_EQ(run_world("threads", 3,
                      [](Transport& t) {
                        Control control(t, 10);
                        for (CollectiveKind kind :
                             {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                              CollectiveKind::kReduceScatter}) {
                          for (bool in_place : {false, true}) {
                            const CollectiveTimes times =
                                time_collective(t, control, kind, 2, 1000, in_place, 3);
                            EXPECT_EQ(times.wall > 0, t.rank() < 2);
                          }
                        }
                      }),
            "");
}

/// A ring moves 2 (n - 1) / n of the buffer over each link for an all_reduce, half of it otherwise.
TEST(TimedCollective, BusBandwidthCountsWhatCrossesALink) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kAllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kReduceScatter, 2), 0.5);
}

TEST_F(Rows, TheCommBenchWritesEachRowOnce) {
  const std::string file = path("comm");
  const auto measure = [&] {
    return run_world("threads", 3, [&](Transport& t) {
      std::unique_ptr<RowsFile> rows;
      if (t.rank() == 0) rows = std::make_unique<RowsFile>(file, a_run("comm"));
      BenchOptions options;
      options.size = GridSize::kQuick;
      options.seconds = 0.05;
      bench_comm(t, rows.get(), options);
    });
  };
  EXPECT_EQ(measure(), "");
  const std::string once = text(file);
  std::map<std::string, int> times;
  for (const Row& row : parse_rows(once, file)) {
    EXPECT_EQ(++times[identity_of(row)], 1) << identity_of(row);
    const auto* c = std::get_if<CollectiveRow>(&row);
    if (c == nullptr) continue;
    const double algbw = static_cast<double>(c->size) / c->out_of_place.time_us * 1e-3;
    EXPECT_NEAR(c->out_of_place.algbw, algbw, 1e-9 * algbw) << "GB/s";
    const std::int64_t parts = c->collective == "all_reduce" ? 1 : c->ranks;
    EXPECT_EQ(c->count * parts * 4, c->size);
  }
  EXPECT_EQ(measure(), "");
  EXPECT_EQ(text(file), once) << "nothing is measured again";
}

}  // namespace plait::bench_test
