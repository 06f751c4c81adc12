// The measuring of GPUs: every kernel of the grid runs, rows are whole, and calibration takes them.

#include "realrun/bench/bench.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "core/error.h"
#include "core/file.h"
#include "costmodel/fit/calibrate.h"
#include "costmodel/kernel_features.h"
#include "model/op_json.h"
#include "realrun/compute/cuda/cuda_timer.h"

namespace plait::bench_test {

constexpr std::int64_t kPoolBytes = 4 << 20;

class GpuBench : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// The rows of `bench` in a file of their own.
  std::vector<Row> measured(void (*bench)(RowsFile&, const BenchOptions&, GpuTimer&)) {
    const std::string path = folder_ + "/raw";
    RunRow run;
    run.bench = "compute", run.processor = "an emulated GPU", run.cores = 1, run.quiet = "quiet";
    BenchOptions options;
    options.size = GridSize::kQuick;
    options.seconds = 1e-3;
    {
      RowsFile file(path, run);
      cuda::CudaTimer gpu(kPoolBytes);
      bench(file, options, gpu);
    }
    return parse_rows(read_text_file(path), path);
  }

 private:
  std::string folder_ = testing::TempDir() + "plaitXXXXXX";
};

TEST_F(GpuBench, EveryKernelOfTheGridIsTimedAndFitted) {
  const std::vector<Row> rows = measured(bench_gpu_compute);
  std::set<std::string> ops, classes, ways;
  for (const Row& row : rows) {
    if (const auto* launch = std::get_if<LaunchRow>(&row)) ways.insert(launch->how);
    const auto* kernel = std::get_if<KernelRow>(&row);
    if (kernel == nullptr) continue;
    ops.insert(to_json(kernel->op)), classes.insert(kernel_class(kernel->op));
    EXPECT_GT(kernel->cpu.median, 0) << to_json(kernel->op);
    EXPECT_LE(kernel->cpu.p10, kernel->cpu.median);
    EXPECT_LE(kernel->cpu.median, kernel->cpu.p90);
  }
  EXPECT_EQ(ops.size(), compute_grid(gpu_extents(GridSize::kQuick)).size());
  EXPECT_EQ(ways, (std::set<std::string>{"issue", "stream", "graph", "graph_step"}));
  const CalibrationResult fitted = calibrate(rows, "gpu", "");
  for (const std::string& name : classes) EXPECT_TRUE(fitted.calibration.kernels.contains(name));
  EXPECT_TRUE(fitted.calibration.kernels.contains("attention.fused.backward.bf16"));
  EXPECT_TRUE(fitted.calibration.kernels.contains("attention.unfused.forward.bf16"));
}

TEST_F(GpuBench, CopiesGoEveryWay) {
  std::set<std::string> kinds;
  for (const Row& row : measured(bench_gpu_copy)) {
    const auto* copy = std::get_if<CopyRow>(&row);
    if (copy == nullptr) continue;
    kinds.insert(copy->what);
    EXPECT_GT(copy->bandwidth, 0) << copy->what;
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"copy", "combine", "read", "fill", "host_to_device",
                                          "device_to_host"}));
}

/// Counts its calls.
class Counted : public cuda::LibraryAttention {
 public:
  explicit Counted(std::vector<std::string>& calls) : calls_(calls) {}
  bool takes(const kernels::AttentionShape&, const kernels::Dropout& d) override {
    return d.probability == 0;
  }
  void forward(const kernels::cuda::Queue&, __nv_bfloat16*, float*, const __nv_bfloat16*,
               const kernels::AttentionShape&) override {
    calls_.emplace_back("forward");
  }
  void backward(const kernels::cuda::Queue&, __nv_bfloat16*, const __nv_bfloat16*,
                const __nv_bfloat16*, const __nv_bfloat16*, const float*,
                const kernels::AttentionShape&) override {
    calls_.emplace_back("backward");
  }
  Bytes held() const override { return {}; }

 private:
  std::vector<std::string>& calls_;
};

/// A real run leaves to the library what it takes: fused attention without dropout.
TEST(CudaTimer, MeasuresTheAttentionThatARealRunHas) {
  std::vector<std::string> calls;
  cuda::CudaTimer gpu(kPoolBytes, std::make_unique<Counted>(calls));
  Attention a{.batch = 1, .heads = 2, .kv_heads = 2, .seq_q = 16, .seq_kv = 16, .head_dim = 32};
  const TimingOptions once{.seconds = 0, .least_repeat_s = 0, .least_repeats = 1};
  const auto called = [&] { return calls.empty() ? "" : std::exchange(calls, {}).front(); };
  gpu.kernel(a, once);
  EXPECT_EQ(called(), "forward");
  a.pass = Pass::kBackward;
  gpu.kernel(a, once);
  EXPECT_EQ(called(), "backward");
  a.dropout = true;
  gpu.kernel(a, once);
  EXPECT_EQ(called(), "") << "the own kernels";
  a.dropout = false, a.dtype = DType::kFp32;
  gpu.kernel(a, once);
  EXPECT_EQ(called(), "") << "the library is for bf16";
}

TEST(GpuGrid, HasAboutTwoHundredAndFiftyProductsAndSomeOfExperts) {
  int products = 0, of_experts = 0;
  for (const Compute& op : compute_grid(gpu_extents(GridSize::kFull))) {
    const auto* product = std::get_if<MatMul>(&op);
    if (product == nullptr) continue;
    (product->batch > 1 ? of_experts : products) += 1;
    EXPECT_LE(product->batch * product->n * product->k, gpu_extents(GridSize::kFull).most_elements);
  }
  EXPECT_EQ(products, 252);
  EXPECT_EQ(of_experts, 36);
}

}  // namespace plait::bench_test
