// Sequences of operators as models' code makes them run, and what each of them is for.
#include "reports/profile/operator_chains.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plait::operator_chains_test {

using enum KernelKind;

std::vector<KernelKind> kinds_of(const std::vector<const char*>& operators) {
  std::string letters;
  for (const char* name : operators) letters += letter_of(std::string("aten::") + name);
  return kinds_of_chain(letters);
}

std::vector<KernelKind> all(std::size_t count, KernelKind kind) {
  return std::vector<KernelKind>(count, kind);
}

TEST(OperatorChains, ARotationIsFoundByItsNegationAndConcatenation) {
  EXPECT_EQ(kinds_of({"chunk", "mul", "neg", "cat", "mul", "add"}), all(6, kRope));
  // transformers: x cos + rotate_half(x) sin, whose halves are slices.
  EXPECT_EQ(kinds_of({"mul", "slice", "slice", "neg", "cat", "mul", "add"}), all(7, kRope));
  // Megatron-LM: the part of the head that is not rotated is put behind.
  EXPECT_EQ(kinds_of({"mul", "chunk", "neg", "cat", "mul", "add", "cat"}), all(7, kRope));
  // The other summand first.
  EXPECT_EQ(kinds_of({"neg", "cat", "mul", "mul", "add"}), all(5, kRope));
}

TEST(OperatorChains, QueriesAndKeysAreRotatedOneAfterTheOther) {
  EXPECT_EQ(kinds_of({"mul", "neg", "cat", "mul", "add", "mul", "neg", "cat", "mul", "add"}),
            all(10, kRope));
}

TEST(OperatorChains, ASplitBeforeTheHeadsAreRotatedIsNoPart) {
  const auto kinds = kinds_of({"linear", "split_with_sizes", "chunk", "mul", "neg", "cat", "mul",
                               "add", "scaled_dot_product_attention"});
  EXPECT_EQ(kinds[1], kUnknown);
  EXPECT_EQ(kinds[2], kRope);
  EXPECT_EQ(kinds[8], kUnknown);
}

TEST(OperatorChains, ARotationByComplexNumbers) {
  // torchtitan: casts of both, queries and keys.
  EXPECT_EQ(kinds_of({"to", "view_as_complex", "to", "view_as_complex", "mul", "view_as_real",
                      "mul", "view_as_real", "to", "to"}),
            all(10, kRope));
}

TEST(OperatorChains, TheProductBehindSiluIsOfTheActivation) {
  EXPECT_EQ(kinds_of({"chunk", "silu", "mul"}), all(3, kActivation));
  const auto apart = kinds_of({"linear", "silu", "linear", "mul", "linear"});
  EXPECT_EQ(apart, (std::vector{kUnknown, kActivation, kUnknown, kActivation, kUnknown}));
}

TEST(OperatorChains, ANormInPython) {
  EXPECT_EQ(kinds_of({"to", "pow", "mean", "add", "rsqrt", "mul", "to", "mul"}), all(8, kNorm));
}

TEST(OperatorChains, AddsBehindProductsAreOfTheResidualStream) {
  EXPECT_EQ(kinds_of({"linear", "dropout", "add", "rms_norm"}),
            (std::vector{kUnknown, kResidualAdd, kResidualAdd, kUnknown}));
  // Of the product behind weights of attention, too.
  EXPECT_EQ(kinds_of({"matmul", "mul", "masked_fill", "softmax", "dropout", "matmul", "add"}),
            (std::vector{kUnknown, kAttention, kAttention, kAttention, kAttention, kUnknown,
                         kResidualAdd}));
  EXPECT_EQ(kinds_of({"matmul", "add", "softmax", "matmul"}),
            (std::vector{kUnknown, kAttention, kAttention, kUnknown}));
  EXPECT_EQ(kinds_of({"embedding", "embedding", "add", "dropout"}),
            (std::vector{kUnknown, kUnknown, kEmbedding, kEmbedding}));
}

TEST(OperatorChains, CastsBeforeALossAreOfIt) {
  EXPECT_EQ(kinds_of({"linear", "to", "contiguous", "cross_entropy_loss"}),
            (std::vector{kUnknown, kCrossEntropy, kCrossEntropy, kUnknown}));
}

TEST(OperatorChains, WhatNoChainHasIsUnknown) {
  EXPECT_EQ(kinds_of({"mul", "add", "cat", "neg", "div", "to", "sort"}), all(7, kUnknown));
}

}  // namespace plait::operator_chains_test
