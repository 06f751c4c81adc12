// Plans on a GPU compute what the unsharded plan computes, and that what a processor computes:
// every op gets the right operands, streams wait for one another, tensors lie where nobody else
// writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "realrun/compute/cuda/cuda_device.h"
#include "tests/realrun/cuda/cover.h"
#include "tests/realrun/cuda/expect_pass.h"
#include "tests/realrun/strategy_files.h"

namespace plait::verify_test {

/// The second step starts from what the first one's clip factor, optimizer and gathers made.
constexpr int kSteps = 2;

MakeDevice gpu() { return cuda::cuda_device(); }

/// An emulated GPU takes its time: a part in each type, all strategies in one of them, and what
/// exchanges gradients in bf16.
std::vector<MatrixCase> some_cases(RunPrecision precision) {
  constexpr std::size_t kEvery = 32;
  const bool in_bf16 = precision == RunPrecision::kBf16;
  const std::vector<MatrixCase> cases = gpu_matrix_cases();
  std::vector<MatrixCase> out;
  std::size_t i = in_bf16 ? kEvery / 2 : 0;
  for (const MatrixCase& c : cases) {
    const bool travels = in_bf16 && c.workload.precision.reduction == DType::kBf16;
    if (i++ % kEvery == 0 || travels) out.push_back(c);
  }
  return in_bf16 ? out : covering(cases, strategy_files, std::move(out));
}

TEST(CudaMatrix, GradientsEqualTheUnshardedOnesInFp32) {
  expect_pass(gpu(), RunPrecision::kFp32, some_cases(RunPrecision::kFp32));
}
TEST(CudaMatrix, GradientsEqualTheUnshardedOnesInBf16) {
  expect_pass(gpu(), RunPrecision::kBf16, some_cases(RunPrecision::kBf16));
}
/// With --gtest_also_run_disabled_tests; on a real GPU by bench/gpu/round.sh, slice by slice.
class CudaMatrixSlice : public ::testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::size_t kSlices = 16;
  static std::vector<MatrixCase> cases() {
    std::vector<MatrixCase> out;
    std::size_t i = 0;
    for (const MatrixCase& c : gpu_matrix_cases()) {
      if (i++ % kSlices == GetParam()) out.push_back(c);
    }
    return out;
  }
};
TEST_P(CudaMatrixSlice, DISABLED_EveryCaseInFp32) {
  expect_pass(gpu(), RunPrecision::kFp32, cases());
}
TEST_P(CudaMatrixSlice, DISABLED_EveryCaseInBf16) {
  expect_pass(gpu(), RunPrecision::kBf16, cases());
}
INSTANTIATE_TEST_SUITE_P(Sixteenth, CudaMatrixSlice,
                         ::testing::Range(std::size_t{0}, std::size_t{16}));

/// Unsharded plans, one for each model and way to compute of the matrix, and for what sequences are
/// made of. In bf16 without what jumps
/// where attention's other roundings bring a sum to the other side of zero, or a logit to the other
/// side of another one: relu's derivative, and the choice of some experts.
void expect_what_processors_compute(RunPrecision precision, int steps) {
  std::vector<std::string> seen;
  for (const MatrixCase& c : gpu_matrix_cases()) {
    const bool chooses = c.model.experts_per_token < c.model.experts;
    if (chooses && !c.model.latent_attention()) continue;  // the model with both has all of it
    const Packing packing = c.workload.documents.packing;
    const std::string of =
        packing == Packing::kNone ? c.model.name : std::string(name_of(packing)) + " documents";
    const std::string kind = of + (c.workload.flash_attention ? "" : ", unfused");
    const bool jumps = chooses || c.model.activation == ActivationKind::kRelu;
    if (jumps && precision == RunPrecision::kBf16) continue;
    if (std::ranges::find(seen, kind) != seen.end()) continue;
    seen.push_back(kind);
    SCOPED_TRACE(kind);
    const Plan plan = make_plan(c.model, in_precision(c.workload, precision), Strategy{});
    const Verification v =
        compare(run_steps(c.model, plan, precision, {.steps = steps, .device = gpu()}),
                run_steps(c.model, plan, precision, {.steps = steps}));
    EXPECT_TRUE(passes(v, tolerance_of(precision))) << v.worst_error << " in " << v.worst_tensor;
  }
}

TEST(CudaDevice, ComputesWhatProcessorsComputeInFp32) {
  expect_what_processors_compute(RunPrecision::kFp32, 1);
}
TEST(CudaDevice, ComputesWhatProcessorsComputeInBf16) {
  expect_what_processors_compute(RunPrecision::kBf16, kSteps);
}

/// Mixes of types that no case of the matrix has, where gradients are split and gathered.
TEST(CudaMixes, AreWhatProcessorsCompute) {
  const auto fp32 = DType::kFp32, bf16 = DType::kBf16;
  struct Mix {
    DType weights, gradients, reduction, master;
  };
  for (const Mix& m :
       {Mix{bf16, bf16, bf16, fp32}, Mix{bf16, bf16, fp32, fp32}, Mix{bf16, fp32, fp32, bf16},
        Mix{bf16, bf16, bf16, bf16}, Mix{fp32, fp32, bf16, fp32}}) {
    SCOPED_TRACE(::testing::Message() << name_of(m.weights) << ' ' << name_of(m.gradients) << ' '
                                      << name_of(m.reduction) << ' ' << name_of(m.master));
    MatrixCase c = gpu_matrix_cases().front();
    c.workload.precision = {m.weights, m.gradients, m.reduction, m.master};
    c.strategy.mesh[Axis::kDp] = 2, c.strategy.zero_stage = 1;
    const Plan plan = make_plan(c.model, in_precision(c.workload, RunPrecision::kBf16), c.strategy);
    const auto run = [&](const MakeDevice& device) {
      return run_steps(c.model, plan, RunPrecision::kBf16, {.steps = kSteps, .device = device});
    };
    const Verification v = compare(run(gpu()), run({}));
    EXPECT_TRUE(passes(v, tolerance_of(RunPrecision::kBf16)))
        << v.worst_error << " in " << v.worst_tensor;
  }
}

/// Two steps are the same whether the second is a graph or not; then it is repeated, and the loss
/// goes on falling on the same batch.
TEST(CudaGraph, RepeatsTheSecondStep) {
  const MatrixCase c = gpu_matrix_cases().front();
  const Plan plan = make_plan(c.model, in_precision(c.workload, RunPrecision::kFp32), Strategy{});
  const auto run = [&](int steps, bool graphs) {
    return run_steps(c.model, plan, RunPrecision::kFp32,
                     {.steps = steps, .device = cuda::cuda_device({.graphs = graphs})});
  };
  const Verification v = compare(run(2, true), run(2, false));
  EXPECT_EQ(v.worst_error, 0) << v.worst_tensor;
  const ModelState repeated = run(5, true);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_LT(repeated.losses[i], repeated.losses[i - 1]);
}

}  // namespace plait::verify_test
