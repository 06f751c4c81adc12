// What PyTorch's context_parallel spells out around attention of a ring's blocks (merge_chain).
#include <gtest/gtest.h>

#include "costmodel/costmodel.h"
#include "costmodel/eager.h"
#include "costmodel/kernels.h"
#include "tests/costmodel/devices.h"

namespace plait::ring_merge_test {

// The result cast to fp32 (2 bytes read, 4 written), out - out' (8, 4), times the sigmoid (4, 4),
// out less that (8, 4); keys and values in one buffer (2, 2). Backward the queries' gradient added
// in fp32 (2, 4, 4); of the keys' half of that, and then all in one place (4, 4), twice; and keys
// and values in one buffer.
TEST(RingMerge, BlocksAreMergedInFp32) {
  Attention op{.batch = 2, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 256, .head_dim = 64};
  op.balanced = true, op.ring_step = 1;
  Kernels eager;
  eager.merge = Fusion::kEager;
  CostModel fused, apart;
  apart.kernels = eager;
  const std::int64_t q = 2 * 8 * 512 * 64, kv = 2 * 2 * 8 * 256 * 64;
  const std::int64_t expected[] = {(6 + 12 + 8 + 12) * q + 4 * kv, 10 * q + (5 + 8 + 8 + 4) * kv};
  for (Pass pass : {Pass::kForward, Pass::kBackward}) {
    op.pass = pass, op.ring_step = 1;
    const KernelChain merged = merge_chain(op, eager);
    EXPECT_EQ(merged.bytes.value, expected[pass == Pass::kForward ? 0 : 1]);
    EXPECT_EQ(merge_chain(op, {}).kernels, 0);
    Attention first = op;
    first.ring_step = 0;
    const Cost copied = stream_cost(merged.bytes, merged.kernels, StreamKind::kCopy, a100());
    EXPECT_GE(apart.compute(op, a100()).total().value,
              (fused.compute(first, a100()).total() + copied.total()).value);
    first.ring_step = -1;
    EXPECT_EQ(merge_chain(first, eager).kernels, 0) << "no ring";
  }
}

}  // namespace plait::ring_merge_test
