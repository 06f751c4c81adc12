#include "costmodel/intermediates.h"

#include <gtest/gtest.h>

namespace plait::intermediates_test {

constexpr TensorId kInput = 0, kOutput = 1, kStatistics = 2;
constexpr std::int64_t kRows = 100, kWidth = 64;

Op op_of(const Compute& body, Phase phase, std::vector<Operand> operands) {
  return {body, Stream::kCompute, phase, std::move(operands)};
}
Op forward(const Compute& body, Phase phase = Phase::kForward) {
  return op_of(body, phase,
               {{kInput, Use::kRead}, {kOutput, Use::kWrite}, {kStatistics, Use::kWrite}});
}
/// It reads the input, and statistics if it is a norm.
Op backward(const Compute& body, bool norm) {
  Op op = op_of(body, Phase::kBackward, {{kInput, Use::kRead}});
  if (norm) op.operands.push_back({kStatistics, Use::kRead});
  return op;
}
std::vector<double> kept(std::vector<Op> ops, const Kernels& kernels) {
  Plan plan;
  plan.tensors.resize(3);
  plan.tensors[kStatistics].dtype = DType::kFp32;
  plan.blocks = {Block{"layer", std::move(ops)}};
  return intermediates_by_tensor(plan, kernels);
}

Norm norm(Pass pass, DType type = DType::kBf16) {
  return {pass, NormKind::kRmsNorm, kRows, kWidth, type};
}
/// Bytes for each element that is normalised, which has 1 / 64 of a number in its statistics.
double of_norms(std::vector<Op> ops) {
  Kernels eager;
  eager.norm = Fusion::kEager;
  return kept(std::move(ops), eager)[kStatistics] * 4 / kWidth;
}

TEST(Intermediates, RmsNormKeepsEightBytesAnElementWithItsInputAndResult) {
  const Op run = forward(norm(Pass::kForward)),
           again = forward(norm(Pass::kForward), Phase::kRecompute);
  const Op trained = backward(norm(Pass::kBackward), true);
  const Op frozen = backward(norm(Pass::kInputGrad), true);
  EXPECT_EQ(of_norms({run, trained}), 8 - 2 - 2);
  EXPECT_EQ(of_norms({run, frozen}), 4 - 2) << "only gamma's gradient needs x / rms";
  EXPECT_EQ(of_norms({run, trained, backward(MatMul{}, false)}), 4 + 2) << "its input stays";
  EXPECT_EQ(of_norms({again, trained}), 4 + 2) << "it is a checkpoint";
  EXPECT_EQ(of_norms({run}), 0) << "no backward pass";
}

TEST(Intermediates, RmsNormInFp32SavesItsInputAsItIs) {
  const Op run = forward(norm(Pass::kForward, DType::kFp32));
  EXPECT_EQ(of_norms({run, backward(norm(Pass::kBackward, DType::kFp32), true)}), 4);
  EXPECT_EQ(of_norms({run, backward(norm(Pass::kInputGrad, DType::kFp32), true)}), 0);
}

TEST(Intermediates, NormsOfHeadsKeepAsMuchForEachOfTheirColumns) {
  const HeadNorm heads{Pass::kForward, kRows, 4, 2, 16, 16, 32};
  HeadNorm back = heads;
  back.pass = Pass::kBackward;
  Kernels eager;
  eager.norm = eager.qkv = Fusion::kEager;
  const auto of_vector = [&] {
    return kept({forward(heads), backward(back, true)}, eager)[kStatistics];
  };
  EXPECT_EQ(of_vector() * 4, 16 * 4);
  eager.qkv = Fusion::kFused;
  EXPECT_EQ(of_vector() * 4, 16 * (4 + 2)) << "values are a view of the product";
}

TEST(Intermediates, AGatedActivationKeepsTheActivatedGateAsLongAsItsInput) {
  Activation silu{Pass::kForward, ActivationKind::kSilu, true, kRows, kWidth};
  Kernels kernels;
  kernels.activation = Fusion::kEager;
  const auto gate = [&](Phase second = Phase::kForward) {
    return kept({forward(silu), forward(silu, second)}, kernels);
  };
  EXPECT_EQ(gate()[kInput], 0.5) << "also where a frozen product, or one in fp8, keeps no output";
  EXPECT_EQ(gate()[kOutput], 0);
  EXPECT_EQ(gate(Phase::kRecompute)[kInput], 0) << "a checkpoint keeps the input alone";
  EXPECT_EQ(gate(Phase::kRecompute)[kOutput], 1) << "while it is there again";
  silu.weighted = true;
  EXPECT_EQ(gate()[kInput], 1) << "the product before its weight too";
  kernels.activation = Fusion::kFunction;
  EXPECT_EQ(gate()[kInput], 0) << "it keeps its input alone";
  kernels.clamp = Fusion::kEager;
  EXPECT_EQ(gate()[kInput], 1) << "what is cut off, and what it is cut from";
  silu.gated = false;
  EXPECT_EQ(gate()[kInput], 0);
}

}  // namespace plait::intermediates_test
