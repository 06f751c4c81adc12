// NCCL between GPUs as `plait bench comm` measures it: on the emulated device and an emulated NCCL.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "model/measurement.h"
#include "realrun/bench/bench.h"
#include "realrun/bench/gpu_comm.h"
#include "realrun/compute/cuda/direct.h"
#include "realrun/launch/rank_threads.h"

namespace plait::cuda::comm_test {

TEST(GpuComm, GroupsAreTheFirstRanksAndOneOfEachNode) {
  EXPECT_EQ(measured_groups({0, 0, 0, 0, 0, 0}),
            (std::vector<RankGroup>{{0, 1}, {0, 1, 2, 3}, {0, 1, 2, 3, 4, 5}}));
  EXPECT_EQ(measured_groups({0, 0, 2, 2}), (std::vector<RankGroup>{{0, 1}, {0, 1, 2, 3}, {0, 2}}));
  EXPECT_EQ(measured_pairs({0, 0}), (std::vector<RankGroup>{{0, 1}}));
  EXPECT_EQ(measured_pairs({0, 0, 2, 2}), (std::vector<RankGroup>{{0, 1}, {0, 2}}));
}

/// Two nodes of two ranks: pairs of neighbours and of nodes, groups of two, of four and over nodes.
TEST(GpuComm, EveryCollectiveOfEveryGroupIsMeasuredOnce) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "plait_gpu_comm_test.jsonl").string();
  std::filesystem::remove(path);
  const std::vector<std::int64_t> nodes = {0, 0, 2, 2};
  for (int round = 0; round < 2; ++round) {  // the second one finds everything there
    run_threads(4, [&](Transport& transport) {
      BenchOptions options;
      options.size = GridSize::kQuick;
      const auto comm =
          nccl_comm(transport, measured_groups(nodes), largest_collective(options.size));
      std::unique_ptr<RowsFile> file;
      if (transport.rank() == 0) {
        RunRow about;
        about.bench = "comm";
        file = std::make_unique<RowsFile>(path, about);
      }
      bench_gpu_comm(transport, file.get(), options, nodes, *comm);
      return 0;
    });
  }
  std::multiset<std::string> ways, kinds;
  std::ifstream written(path);
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  for (const Row& row : parse_rows(text, path)) {
    if (const auto* m = std::get_if<MessageRow>(&row)) ways.insert(m->transport);
    const auto* c = std::get_if<CollectiveRow>(&row);
    if (c == nullptr) continue;
    kinds.insert(c->collective + " of " + std::to_string(c->ranks) + " by " + c->transport);
    EXPECT_GT(c->out_of_place.time_us, 0);
  }
  constexpr std::size_t kSizes = 4;  // 1, 2, 4 and 8 KiB
  EXPECT_EQ(ways.count("nccl"), kSizes);
  EXPECT_EQ(ways.count("nccl over 2 nodes"), kSizes);
  for (const char* kind : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}) {
    EXPECT_EQ(kinds.count(std::string(kind) + " of 2 by nccl"), kSizes);
    EXPECT_EQ(kinds.count(std::string(kind) + " of 2 by nccl over 2 nodes"), kSizes);
    EXPECT_EQ(kinds.count(std::string(kind) + " of 4 by nccl over 2 nodes"), kSizes);
  }
  std::filesystem::remove(path);
}

/// Everything takes the same time.
class Steady : public GpuComm {
 public:
  static constexpr double kEach = 1.0 / 64;
  double message(const RankGroup&, std::int64_t, std::int64_t) override { return kEach; }
  double collective(CollectiveKind, const RankGroup&, std::int64_t, bool, std::int64_t) override {
    return kEach;
  }
};

/// Two ranks: of each of four sizes one message, three collectives in place and out of place, and
/// one only out of place.
TEST(GpuComm, RepeatsFollowTheSecondsThatThereAre) {
  constexpr std::int64_t kRepeats = 10, kTimed = 4 * (1 + 3 * 2 + 1);
  const std::string path =
      (std::filesystem::temp_directory_path() / "plait_gpu_comm_seconds_test.jsonl").string();
  std::filesystem::remove(path);
  run_threads(2, [&](Transport& transport) {
    BenchOptions options;
    options.size = GridSize::kQuick;
    options.seconds = kTimed * kRepeats * Steady::kEach;
    RunRow about;
    about.bench = "comm";
    const auto file = transport.rank() == 0 ? std::make_unique<RowsFile>(path, about) : nullptr;
    Steady steady;
    bench_gpu_comm(transport, file.get(), options, {0, 0}, steady);
    return 0;
  });
  std::vector<std::int64_t> repeats;
  std::ifstream written(path);
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  for (const Row& row : parse_rows(text, path)) {
    if (const auto* m = std::get_if<MessageRow>(&row)) repeats.push_back(m->repeats);
    if (const auto* c = std::get_if<CollectiveRow>(&row)) repeats.push_back(c->repeats);
  }
  EXPECT_EQ(repeats, std::vector<std::int64_t>(4 * (1 + 4), kRepeats));
  std::filesystem::remove(path);
}

}  // namespace plait::cuda::comm_test
