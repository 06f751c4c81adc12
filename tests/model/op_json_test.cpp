#include "model/op_json.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace plait::op_json_test {

/// One of each alternative, no member at its default where that can be helped.
std::vector<Compute> each_kind() {
  return {
      MatMul{.pass = Pass::kWeightGrad,
             .layout = GemmLayout::kTN,
             .batch = 2,
             .m = 3,
             .n = 5,
             .k = 7,
             .in = DType::kFp16,
             .out = DType::kFp32,
             .accumulate = true,
             .bias = true},
      Attention{.pass = Pass::kBackward,
                .batch = 2,
                .heads = 4,
                .kv_heads = 1,
                .seq_q = 8,
                .seq_kv = 16,
                .head_dim = 32,
                .causal = false,
                .fused = false,
                .dropout = true,
                .dtype = DType::kFp32,
                .balanced = true},
      Norm{Pass::kInputGrad, NormKind::kLayerNorm, 3, 5, DType::kFp8},
      HeadNorm{Pass::kBackward, 3, 6, 2, 5, 7, 10, DType::kFp32},
      Activation{Pass::kBackward, ActivationKind::kRelu, false, 3, 5, DType::kFp64},
      Gate{Pass::kBackward, 3, 5, true, DType::kFp32},
      Rope{Pass::kBackward, 3, 5, DType::kFp32},
      LatentHeads{Pass::kBackward, 3, 5, 7, 6, 2, DType::kFp32},
      CausalConv{Pass::kBackward, 3, 5, 4, DType::kFp32, false},
      Scan{Pass::kBackward, 2, 3, 4, 5, 2, 7, 8, DType::kFp32},
      DeltaRule{Pass::kBackward, 2, 3, 4, 5, 2, 7, 8, DType::kFp32},
      GatedNorm{Pass::kBackward, 3, 8, 2, DType::kFp32, true},
      Embedding{Pass::kBackward, 3, 5, 7, true, DType::kFp32, DType::kBf16},
      CrossEntropy{CrossEntropy::Step::kGradient, 3, 5, DType::kFp32},
      Route{Pass::kBackward, 3, 5, 7, 2, 4, DType::kFp32},
      Dispatch{Pass::kBackward, 3, 5, 2, 7, DType::kFp32},
      Combine{Pass::kBackward, 3, 5, 2, 7, DType::kFp32},
      Add{Pass::kBackward, 3, 5, true, true, DType::kFp32},
      BiasGrad{3, 5, DType::kFp32, DType::kBf16},
      Cast{3, DType::kBf16, DType::kFp32},
      Fill{3, DType::kInt8},
      SquaredNorm{3, DType::kBf16},
      Amax{3, DType::kBf16},
      Adam{3, DType::kFp32, DType::kBf16, DType::kFp16, DType::kBf16},
  };
}

TEST(OpJson, EveryAlternativeComesBackWhole) {
  const std::vector<Compute> ops = each_kind();
  ASSERT_EQ(ops.size(), std::variant_size_v<Compute>);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    ASSERT_EQ(ops[i].index(), i) << "one of each, in order";
    const std::string text = to_json(ops[i]);
    const JsonDocument document = parse_json(text, "test");
    const Compute back = compute_from(document.root());
    EXPECT_EQ(back.index(), i) << text;
    EXPECT_EQ(to_json(back), text);
  }
}

/// The text has every member: two ops that differ in one member have different texts.
TEST(OpJson, WorkIsTheSameAfterTheRoundTrip) {
  for (const Compute& op : each_kind()) {
    const Compute back = compute_from(parse_json(to_json(op), "test").root());
    EXPECT_EQ(flops(back), flops(op));
    EXPECT_EQ(memory_traffic(back), memory_traffic(op));
    EXPECT_EQ(pass_of(back), pass_of(op));
    EXPECT_EQ(compute_dtype(back), compute_dtype(op));
  }
}

TEST(OpJson, IsFlatAndBeginsWithTheName) {
  EXPECT_EQ(to_json(Fill{12, DType::kFp32}), R"({"op":"fill","dtype":"fp32","elements":12})");
}

std::string code_of(const std::string& text) {
  try {
    compute_from(parse_json(text, "test").root());
  } catch (const InputError& e) {
    return e.text().code;
  }
  return "";
}

TEST(OpJson, WrongObjectsAreRefused) {
  EXPECT_EQ(code_of(R"([])"), "F003");
  EXPECT_EQ(code_of(R"({"elements":1})"), "F002");
  EXPECT_EQ(code_of(R"({"op":"fill","dtype":"fp32"})"), "F002");
  EXPECT_EQ(code_of(R"({"op":"fill","dtype":"fp32","elements":0})"), "U004");
  EXPECT_EQ(code_of(R"({"op":"fil","dtype":"fp32","elements":1})"), "F004");
  EXPECT_EQ(code_of(R"({"op":"fill","dtype":"fp31","elements":1})"), "F004");
  EXPECT_EQ(code_of(R"({"op":"fill","dtype":"fp32","elements":1,"m":2})"), "F001");
  EXPECT_EQ(code_of(R"({"op":"fill","dtype":"fp32","elements":-1})"), "U004");
}

}  // namespace plait::op_json_test
