#include "costmodel/projections.h"

#include <gtest/gtest.h>

#include "costmodel/costmodel.h"
#include "costmodel/issue.h"
#include "costmodel/kernels.h"
#include "tests/costmodel/devices.h"

namespace plait::projections_test {

constexpr std::int64_t kTokens = 4096, kHidden = 2048, kQueries = 2048, kKeys = 512;
constexpr std::int64_t kPacked = kQueries + 2 * kKeys;

Kernels apart() {
  Kernels k;
  k.qkv = k.gate = k.input_sums = Fusion::kEager;
  return k;
}
/// y = x W^T, dx = dy W and dW = dy^T x of queries, keys and values of grouped heads.
MatMul qkv(Pass pass) {
  MatMul op{.pass = pass, .packed = {{kQueries, kKeys, kKeys}, false}};
  if (pass == Pass::kForward) op.m = kTokens, op.n = kPacked, op.k = kHidden;
  if (pass == Pass::kInputGrad) op.m = kTokens, op.n = kHidden, op.k = kPacked;
  if (pass == Pass::kWeightGrad) op.m = kPacked, op.n = kHidden, op.k = kTokens;
  return op;
}

// Each has its share of the dimension along which they lie side by side, in every pass.
TEST(Projections, HaveTheirOwnColumns) {
  for (const Pass pass : {Pass::kForward, Pass::kInputGrad, Pass::kWeightGrad}) {
    const MatMul whole = qkv(pass);
    const Products products = as_run(whole, apart());
    ASSERT_EQ(products.count, 3);
    std::int64_t work = 0;
    for (const MatMul& p : products.each) work += p.m * p.n * p.k;
    EXPECT_EQ(work, whole.m * whole.n * whole.k);
  }
  EXPECT_EQ(as_run(qkv(Pass::kForward), apart()).each[0].n, kQueries);
  EXPECT_EQ(as_run(qkv(Pass::kInputGrad), apart()).each[1].k, kKeys);
  EXPECT_EQ(as_run(qkv(Pass::kWeightGrad), apart()).each[2].m, kKeys);
}

TEST(Projections, AreOneProductWhereTheFrameworkPacksThem) {
  EXPECT_EQ(as_run(qkv(Pass::kForward), {}).count, 1);
  MatMul gate = qkv(Pass::kForward);
  gate.packed = {{kPacked / 2, kPacked / 2, 0}, true};
  Kernels scaling;  // packs queries, keys and values, not gate and up
  scaling.gate = Fusion::kEager;
  EXPECT_EQ(as_run(gate, scaling).count, 2);
  EXPECT_EQ(as_run(qkv(Pass::kForward), scaling).count, 1);
  gate.batch = 4;  // experts
  EXPECT_EQ(as_run(gate, scaling).count, 1);
}

// Values that were kept are not computed again: two products remain.
TEST(Projections, OnesThatAreKeptAreLeftOut) {
  MatMul again = qkv(Pass::kForward);
  again.n -= kKeys, again.packed.columns[2] = 0;
  const Products products = as_run(again, apart());
  ASSERT_EQ(products.count, 2);
  EXPECT_EQ(products.each[0].n, kQueries);
  EXPECT_EQ(products.each[1].n, kKeys);
}

// Three gradients of 2 bytes: the first two are read and their sum is written, and so again.
TEST(Projections, SumsOfInputGradientsGoThroughMemory) {
  const KernelChain sums = input_sum_chain(qkv(Pass::kInputGrad), apart());
  EXPECT_EQ(sums.kernels, 2);
  EXPECT_EQ(sums.bytes, Bytes(2 * 3 * 2 * kTokens * kHidden));
  EXPECT_EQ(input_sum_chain(qkv(Pass::kForward), apart()).kernels, 0);
  CostModel model;
  model.kernels = apart();
  Seconds expected = stream_cost(sums.bytes, 2, StreamKind::kCopy, a100()).total();
  for (MatMul p : as_run(qkv(Pass::kInputGrad), apart()).each)
    expected += CostModel().compute(p, a100()).total();
  EXPECT_NEAR(model.compute(qkv(Pass::kInputGrad), a100()).total().value, expected.value, 1e-12);
}

TEST(Projections, EachSumsOverTpByItself) {
  Collective sum;
  sum.axes = Axis::kTp, sum.elements = kTokens * kHidden, sum.projections = 2;
  EXPECT_EQ(all_reduces_of(sum, apart()), 2);
  EXPECT_EQ(all_reduces_of(sum, {}), 1);
  sum.kind = CollectiveKind::kReduceScatter;
  EXPECT_EQ(all_reduces_of(sum, apart()), 1);  // sequence parallelism scatters once
}

// A call for each product and each sum; forward 3, dx 3 + 2, dW a product and its sum each.
TEST(Projections, EachIsACallOfTheHost) {
  EXPECT_EQ(host_calls(qkv(Pass::kForward), apart()), 3);
  EXPECT_EQ(host_calls(qkv(Pass::kInputGrad), apart()), 3 + 2);
  EXPECT_EQ(host_calls(qkv(Pass::kWeightGrad), apart()), 3 * 2);
  EXPECT_EQ(host_calls(qkv(Pass::kForward), {}), 1);
}

}  // namespace plait::projections_test
