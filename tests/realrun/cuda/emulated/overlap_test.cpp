// What `plait bench overlap` measures, on the emulated device: copies, a peer's kernels on other
// multiprocessors, NCCL between ranks. And how long the bench keeps the other side busy.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "core/file.h"
#include "costmodel/fit/calibrate.h"
#include "realrun/bench/bench.h"
#include "realrun/bench/gpu_overlap.h"
#include "realrun/compute/cuda/cuda_overlap.h"
#include "realrun/compute/cuda/direct.h"
#include "realrun/launch/rank_threads.h"
#include "tests/emulated_cuda/emulated_runtime.h"

namespace plait::cuda::overlap_test {

constexpr std::int64_t kOverlapPool = 4 << 20;

class GpuOverlapBench : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// The rows that are in the file when every rank's `make(transport)` has been measured.
  template <class Make>
  std::vector<Row> rows_of(std::int64_t ranks, Make&& make) {
    const std::string path = folder_ + "/raw";
    run_threads(ranks, [&](Transport& transport) {
      BenchOptions options;
      options.size = GridSize::kQuick;
      std::unique_ptr<RowsFile> file;
      if (transport.rank() == 0) {
        RunRow about;
        about.bench = "overlap", about.processor = "an emulated GPU", about.quiet = "quiet";
        file = std::make_unique<RowsFile>(path, about);
      }
      const std::vector<std::int64_t> one_node(static_cast<std::size_t>(ranks), 0);
      const std::unique_ptr<GpuOverlap> gpu = make(transport);
      bench_gpu_overlap(transport, file.get(), options, one_node, *gpu);
      return 0;
    });
    return parse_rows(read_text_file(path), path);
  }

 private:
  std::string folder_ = testing::TempDir() + "plaitXXXXXX";
};

std::unique_ptr<CudaOverlap> beside(std::shared_ptr<GpuShare> share,
                                    std::unique_ptr<Traffic> traffic) {
  return std::make_unique<CudaOverlap>(std::move(share), std::move(traffic), kOverlapPool);
}

/// Every op beside every communication in two sizes, once; times are there.
void expect_whole(const std::vector<Row>& rows, const std::string& transport,
                  const std::set<std::string>& communications, std::int64_t ranks) {
  std::multiset<std::string> seen;
  for (const Row& any : rows) {
    const auto* row = std::get_if<OverlapRow>(&any);
    if (row == nullptr) continue;
    EXPECT_EQ(row->transport, transport);
    EXPECT_EQ(row->ranks, ranks);
    EXPECT_TRUE(row->covered) << identity_of(*row);
    for (const Spread& s : {row->compute_alone, row->compute_beside, row->communication_alone,
                            row->communication_beside}) {
      EXPECT_GT(s.median, 0);
    }
    seen.insert(row->communication);
  }
  const std::size_t each = 2 * overlapped_ops(GridSize::kQuick).size();
  EXPECT_EQ(seen.size(), each * communications.size());
  for (const std::string& c : communications) EXPECT_EQ(seen.count(c), each) << c;
}

TEST_F(GpuOverlapBench, ComputesBesideCopies) {
  const auto rows = rows_of(1, [](Transport&) {
    return beside(whole_gpu(0), copies_in_memory(whole_gpu(0), largest_overlap(GridSize::kQuick)));
  });
  expect_whole(rows, "copy", {"copy"}, 1);
}

/// 132 multiprocessors in partitions of eight: each has 64.
TEST_F(GpuOverlapBench, ComputesBesideAPeersKernels) {
  const auto rows = rows_of(1, [](Transport&) {
    const auto shares = green_contexts(0, 2);
    return beside(shares[0], kernels_of_a_peer(shares[1], largest_overlap(GridSize::kQuick)));
  });
  expect_whole(rows, "green", {"all_reduce"}, 2);
  for (const Row& any : rows) {
    const auto* row = std::get_if<OverlapRow>(&any);
    if (row == nullptr) continue;
    EXPECT_EQ(row->multiprocessors, 64);
  }
}

/// What was measured is what calibration reads.
TEST_F(GpuOverlapBench, ComputesBesideNcclAndIsFitted) {
  const auto rows = rows_of(2, [](Transport& transport) {
    return beside(whole_gpu(0), nccl_traffic(transport, largest_overlap(GridSize::kQuick)));
  });
  const std::set<std::string> kinds = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
  expect_whole(rows, "nccl", kinds, 2);
  const CalibrationResult fitted = calibrate(rows, "gpu", "");
  for (const std::string& kind : kinds) {
    EXPECT_TRUE(fitted.calibration.held_multiprocessors.contains(kind)) << kind;
  }
  EXPECT_EQ(fitted.quality.size(), 2 * kinds.size());
}

/// Plays a GPU on which either side takes so many times as long beside the other.
class Played : public GpuOverlap {
 public:
  Played(double compute, double communication)
      : slowdown_{compute, communication}, alone_{1e-3, 2e-3} {}
  std::string transport() const override { return "played"; }
  std::vector<std::string> communications() const override { return {"all_reduce"}; }
  std::int64_t ranks() const override { return 1; }
  std::int64_t multiprocessors() const override { return 100; }
  void take(const Compute&, const std::string&, std::int64_t) override {}
  Times time(OverlapSide side, std::int64_t calls, std::int64_t others) override {
    const auto mine = static_cast<std::size_t>(side);
    if (others == 0) return {alone_[mine], true};
    const double seconds = slowdown_[mine] * alone_[mine];
    const double there = static_cast<double>(others) * alone_[1 - mine];
    return {seconds, there >= seconds * static_cast<double>(calls)};
  }

 private:
  double slowdown_[2], alone_[2];
};

/// The other side is given twice what is needed, and so on up to sixteen times.
TEST_F(GpuOverlapBench, KeepsTheOtherSideBusyLongEnough) {
  const auto rows = rows_of(1, [](Transport&) { return std::make_unique<Played>(5, 1.25); });
  const auto& row = std::get<OverlapRow>(rows.at(1));
  EXPECT_DOUBLE_EQ(row.compute_alone.median, 1e-3);
  EXPECT_DOUBLE_EQ(row.compute_beside.median, 5e-3);
  EXPECT_DOUBLE_EQ(row.communication_beside.median, 2.5e-3);
  EXPECT_TRUE(row.covered);
}
TEST_F(GpuOverlapBench, SaysWhereItDidNot) {
  const auto rows = rows_of(1, [](Transport&) { return std::make_unique<Played>(100, 1); });
  EXPECT_FALSE(std::get<OverlapRow>(rows.at(1)).covered);
}

}  // namespace plait::cuda::overlap_test
