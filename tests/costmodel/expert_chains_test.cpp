#include "costmodel/expert_chains.h"

#include <gtest/gtest.h>

#include "costmodel/costmodel.h"
#include "costmodel/issue.h"
#include "costmodel/kernels.h"
#include "tests/costmodel/devices.h"

namespace plait::expert_chains_test {

constexpr std::int64_t kRows = 8192, kWidth = 4096;

// T rows of tokens, S of slots. Permute: S read, S written; backward zeros (T), and to each of S
// rows its sum (read, read, written). Unpermute: times gates (2 S), zeros (T), sums (3 S); backward
// rows by slot (2 S), times gates (2 S), times slots (3 S), and their sums (S).
TEST(ExpertChains, TokensToTheirSlotsAndBackGoThroughMemoryAgain) {
  constexpr std::int64_t kSlots = 2 * kRows;
  Kernels eager;
  eager.routing = Fusion::kEager;
  const auto passes = [&](const Compute& op) {
    return static_cast<double>(eager_chain(op, eager).bytes.value) / (2.0 * kRows * kWidth);
  };
  const double s = 2;  // slots over tokens
  Dispatch to{.rows = kRows, .width = kWidth, .chosen = 2, .slots = kSlots};
  Combine back{.rows = kRows, .width = kWidth, .chosen = 2, .slots = kSlots};
  EXPECT_DOUBLE_EQ(passes(to), 2 * s);
  EXPECT_DOUBLE_EQ(passes(back), 1 + 5 * s);
  EXPECT_EQ(eager_chain(to, {}).kernels, 0) << "fused";
  EXPECT_EQ(eager_chain(back, {}).kernels, 0) << "fused";
  const KernelChain alone = eager_chain(to, eager);
  to.senders = 2;  // which slots are a rank's own, of map and gates
  EXPECT_EQ(eager_chain(to, eager).kernels, alone.kernels + 2);
  EXPECT_EQ(eager_chain(to, eager).bytes, alone.bytes + Bytes(2 * kRows * 2 * 8));
  to.pass = back.pass = Pass::kBackward;
  EXPECT_DOUBLE_EQ(passes(to), 1 + 3 * s);
  EXPECT_DOUBLE_EQ(passes(back), 8 * s);
  for (const Compute& op : {Compute(to), Compute(back)})
    EXPECT_GT(eager_chain(op, eager).bytes, memory_traffic(op));
}

// Each of S rows of `width` elements is added by atomic operations, 862 million a second and
// multiprocessor: on A100 with 108 of them three passes over the slots take less than that.
TEST(ExpertChains, RowsAreAddedInNoOrderAsFastAsAtomicOperationsGo) {
  constexpr std::int64_t kSlots = 1 << 16, kColumns = 4096;
  Kernels eager;
  eager.routing = Fusion::kEager;
  const CostModel model = {.kernels = eager};
  const auto time = [&](const Compute& op) { return model.compute(op, a100()).total().value; };
  Dispatch there{.rows = kSlots / 2, .width = kColumns, .chosen = 2, .slots = kSlots};
  there.pass = Pass::kBackward;
  const KernelChain chain = eager_chain(there, eager);
  EXPECT_EQ(chain.pieces, kSlots * kColumns);
  EXPECT_EQ(chain.piece_bytes, Bytes(3 * 2 * kSlots * kColumns));
  const double adds = static_cast<double>(kSlots * kColumns) / (862e6 * 108);
  const double zeros =
      stream_cost(chain.bytes - chain.piece_bytes, 2, StreamKind::kCopy, a100()).total().value;
  EXPECT_NEAR(time(there), zeros + adds, 1e-3 * adds);
  // In fp32 their bytes take longer than in 16 bits, and as long as the additions at most.
  Dispatch wide = there;
  wide.dtype = DType::kFp32;
  EXPECT_GE(time(wide), time(there));
  Device processor = a100();
  processor.sms = 0;
  EXPECT_EQ(piece_wait(chain, processor).value, 0) << "no multiprocessors";
}

// PyTorch 2.11 on an H100 (reports/gpu/h100/torch-ops.json), in ms, for tokens, width, experts and
// choices: index_add_ and scatter_add_ into zeros, and rows times gates of 16 and of 32 bits, which
// are not told apart. The rate of the first is another source's.
TEST(ExpertChains, AdditionsAndGatesTakeWhatAnH100Showed) {
  struct Row {
    std::int64_t tokens, width, chosen;
    double index_add, scatter_add, times_gates, times_wide_gates;
  };
  const Row rows[] = {{4096, 2048, 8, 0.550, 0.282, 0.191, 0.288},
                      {8192, 4096, 8, 2.329, 1.033, 0.681, 1.112},
                      {4096, 6144, 2, 0.433, 0.219, 0.145, 0.217},
                      {4096, 7168, 8, 1.865, 0.900, 0.597, 0.975}};
  CostModel model;
  model.kernels.routing = Fusion::kEager;
  const auto ms = [&](const Compute& op) { return 1e3 * model.compute(op, h100()).total().value; };
  for (const Row& r : rows) {
    const std::int64_t slots = r.tokens * r.chosen;
    Dispatch to{.pass = Pass::kBackward, .rows = r.tokens, .width = r.width, .slots = slots};
    Combine back{.rows = r.tokens, .width = r.width, .slots = slots, .weighted = false};
    EXPECT_NEAR(ms(to), r.index_add, 0.12 * r.index_add);
    EXPECT_NEAR(ms(back), r.scatter_add, 0.08 * r.scatter_add);
    const double sums = ms(back);
    back.weighted = true;
    EXPECT_GT(ms(back) - sums, r.times_gates) << "one at a time";
    EXPECT_LT(ms(back) - sums, r.times_wide_gates);
  }
}

// Slots of 128 experts and more are put in order by torch.cat, 0.165, 0.520 and 0.468 ms on that
// H100 where a copy takes 0.093, 0.362 and 0.313; those of 8 in 0.078 for 0.071. Fused it is a
// copy.
TEST(ExpertChains, ManyChunksTakeLongerThanACopy) {
  CostModel fused, eager;
  eager.kernels.routing = Fusion::kEager;
  Cast op{32768 * 2048, DType::kBf16, DType::kBf16};
  const auto ms = [&](const CostModel& model) {
    return 1e3 * model.compute(op, h100()).total().value;
  };
  const double copy = ms(eager);
  op.chunks = 8;
  EXPECT_LT(ms(eager), 1.1 * copy);
  for (const std::int64_t many : {128, 256}) {
    op.chunks = many;
    EXPECT_GT(ms(eager), 1.44 * copy);
    EXPECT_LT(ms(eager), 1.77 * copy);
    EXPECT_EQ(eager_chain(op, eager.kernels).kernels, many / 128);
  }
  EXPECT_EQ(ms(fused), copy);
}

// Two searches of each token's logits for the largest, of 8, 128 and 256 experts: softmax and top-k
// take 35, 41 and 66 us for 4,096 tokens on an H100. What the host calls is a kernel each.
TEST(ExpertChains, AChoiceIsAsManyKernelsAsItsCode) {
  CostModel fused, eager;
  eager.kernels.routing = Fusion::kEager;
  Route op{.tokens = 4096, .groups = 1, .experts = 128, .chosen = 8, .capacity = 4096};
  const auto us = [&] { return 1e6 * eager.compute(op, h100()).total().value; };
  const double forward = us();
  EXPECT_EQ(eager_chain(op, eager.kernels).kernels, host_calls(Compute(op), eager.kernels));
  EXPECT_EQ(eager_chain(op, {}).kernels, 0);
  EXPECT_GT(forward, 2 * 29 + 44 * 1.3);
  EXPECT_LT(forward, 2 * 41 + 44 * 3);
  EXPECT_GT(forward, 1e6 * fused.compute(op, h100()).total().value);
  op.experts = 256;
  EXPECT_NEAR(us() - forward, 2 * (66 - 41), 35) << "twice the logits";
  op.experts = 8;
  EXPECT_GT(us(), 2 * 26) << "each token is a search";
  op.pass = Pass::kBackward;
  EXPECT_LT(us(), forward / 2);
}

// Every row of a slot is read and written once more, in each pass and at each end.
TEST(ExpertChains, PaddedRowsOfExpertsAreCopiedToThemAndBack) {
  CostModel plain, padding;
  padding.kernels.expert_padding = Fusion::kEager;
  Dispatch to{.rows = kRows, .width = kWidth, .chosen = 2, .slots = 2 * kRows};
  Combine back{.rows = kRows, .width = kWidth, .chosen = 2, .slots = 2 * kRows};
  const Bytes copied(2 * 2 * kRows * kWidth * 2);
  const Cost copy = stream_cost(copied, 1, StreamKind::kCopy, a100());
  const auto expect_copy = [&](const Compute& op) {
    EXPECT_EQ(expert_padding_chain(op, padding.kernels).bytes, copied);
    EXPECT_EQ(expert_padding_chain(op, {}).kernels, 0);
    EXPECT_NEAR((padding.compute(op, a100()).total() - plain.compute(op, a100()).total()).value,
                copy.total().value, 1e-12);
  };
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    to.pass = back.pass = pass;
    expect_copy(to), expect_copy(back);
  }
  EXPECT_EQ(expert_padding_chain(Norm{}, padding.kernels).kernels, 0);
}

}  // namespace plait::expert_chains_test
