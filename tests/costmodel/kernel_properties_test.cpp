// What holds of every kernel's cost: more work never takes less, a faster device is never slower,
// and shares are what their resource saves.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "costmodel/costmodel.h"
#include "tests/costmodel/devices.h"

namespace plait::kernel_properties_test {

const CostModel kModel;

Compute any_op(int which, std::int64_t rows, std::int64_t width) {
  MatMul product;
  product.m = rows, product.n = width, product.k = 1024;
  Attention attend;
  attend.heads = attend.kv_heads = 16, attend.head_dim = 128, attend.causal = true;
  attend.seq_q = attend.seq_kv = rows;
  attend.fused = which != 2;
  Norm norm;
  norm.rows = rows, norm.width = width;
  Activation activation;
  activation.rows = rows, activation.width = width;
  Add add;
  add.rows = rows, add.width = width;
  Adam adam;
  adam.elements = rows * width;
  switch (which) {
    case 0: return product;
    case 1:
    case 2: return attend;
    case 3: return norm;
    case 4: return activation;
    case 5: return add;
    default: return adam;
  }
}
// Scores of a sequence that is no multiple of 8 are misaligned: one of the next multiple is faster.
RC_GTEST_PROP(Kernels, MoreWorkNeverTakesLess, ()) {
  const int which = *rc::gen::inRange(0, 7);
  const std::int64_t unit = which == 2 ? 8 : 1;
  const auto rows = unit * *rc::gen::inRange<std::int64_t>(1, 20000 / unit);
  const auto width = *rc::gen::inRange<std::int64_t>(1, 8192);
  const auto more = unit * *rc::gen::inRange<std::int64_t>(0, 20000 / unit);
  for (const Device& d : {a100(), h100(), b200(), cpu()}) {
    const Seconds less = kModel.compute(any_op(which, rows, width), d).total();
    RC_ASSERT(less <= kModel.compute(any_op(which, rows + more, width), d).total());
  }
}
RC_GTEST_PROP(Kernels, AFasterDeviceIsNeverSlower, ()) {
  const Compute op = any_op(*rc::gen::inRange(0, 7), *rc::gen::inRange<std::int64_t>(1, 20000),
                            *rc::gen::inRange<std::int64_t>(1, 8192));
  const double factor = 1 + *rc::gen::inRange(0, 100) / 25.0;
  const double quicker = 1 + *rc::gen::inRange(0, 1000);  // launches
  for (Device d : {a100(), h100(), b200(), cpu()}) {
    d.launch_overhead *= 1 / quicker;
    Device compute = d, memory = d, launch = d;
    compute.peak_bf16 *= factor;
    memory.memory_bandwidth *= factor;
    launch.launch_overhead *= 1 / factor;
    const Seconds base = kModel.compute(op, d).total();
    RC_ASSERT(kModel.compute(op, compute).total() <= base);
    RC_ASSERT(kModel.compute(op, memory).total() <= base);
    RC_ASSERT(kModel.compute(op, launch).total() <= base);
  }
}
// What a share promises: its resource better by a fraction saves that fraction of it, or more where
// a product then splits k.
RC_GTEST_PROP(Kernels, SharesAreFirstOrderSavings, ()) {
  const Compute op = any_op(*rc::gen::inRange(0, 7), *rc::gen::inRange<std::int64_t>(1, 20000),
                            *rc::gen::inRange<std::int64_t>(1, 8192));
  const Cost base = kModel.compute(op, h100());
  const auto saved_by = [&](double part) {
    Device d = h100();
    d.launch_overhead *= 1 - part;
    return (base.total() - kModel.compute(op, d).total()).value / part;
  };
  const double share = base.share[kLaunchOverhead].value, total = base.total().value;
  RC_ASSERT(std::abs(saved_by(1e-6) - share) <= 1e-6 * total);
  RC_ASSERT(saved_by(0.5) >= share - 1e-9 * total);
}
RC_GTEST_PROP(Gemm, SharesOfComputeAndMemoryAreFirstOrderSavings, ()) {
  const Compute op = any_op(0, *rc::gen::inRange<std::int64_t>(1, 20000),
                            *rc::gen::inRange<std::int64_t>(1, 8192));
  constexpr double kLess = 1e-6;
  const Cost base = kModel.compute(op, h100());
  const auto expect = [&](const Device& better, Resource resource) {
    const double saved = (base.total() - kModel.compute(op, better).total()).value / kLess;
    RC_ASSERT(std::abs(saved - base.share[resource].value) <= 1e-4 * base.total().value);
  };
  Device compute = h100(), memory = h100();
  compute.peak_bf16 *= 1 / (1 - kLess);
  memory.memory_bandwidth *= 1 / (1 - kLess);
  expect(compute, kPeakFlops);
  expect(memory, kMemoryBandwidth);
}

}  // namespace plait::kernel_properties_test
