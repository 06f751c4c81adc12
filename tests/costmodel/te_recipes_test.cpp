// Recipes in 8 and 4 bits as Transformer Engine measures them
// (docs/examples/gemm_profiling/gemm_profiling.rst, 2026): the twelve products of a layer of 4,096
// and 16,384 columns and 15,872 tokens, alone and with their casts, of which the forward pass of a
// linear layer makes two forms of the input and one of the weight. Products count over those in
// bf16, whose rates on a machine are compared elsewhere (GemmFits.*, catalogue_test.cpp).

#include <gtest/gtest.h>

#include "costmodel/block_scales.h"
#include "costmodel/kernels.h"
#include "tests/costmodel/devices.h"
#include "topologies/catalogue.h"

namespace plait::te_recipes_test {

constexpr std::int64_t kTokens = 15872, kNarrow = 4096, kWide = 16384;
struct Shape {
  std::int64_t m, n, k;
};
/// Of forward, input's gradient and weight's gradient, each run as a forward product.
constexpr Shape kShapes[] = {{kTokens, 3 * kNarrow, kNarrow}, {kTokens, kNarrow, kNarrow},
                             {kTokens, kWide, kNarrow},       {kTokens, kNarrow, kWide},
                             {kTokens, kNarrow, 3 * kNarrow}, {kTokens, kNarrow, kNarrow},
                             {kTokens, kNarrow, kWide},       {kTokens, kWide, kNarrow},
                             {kNarrow, 3 * kNarrow, kTokens}, {kNarrow, kNarrow, kTokens},
                             {kNarrow, kWide, kTokens},       {kWide, kNarrow, kTokens}};

struct Recipe {
  const char* name;
  DType type;
  Fusion amax;
  bool casts;
  double ms;
};

Seconds cast(std::int64_t elements, int forms, const Recipe& recipe, const Device& device) {
  Cast op{.elements = elements, .from = DType::kBf16, .to = recipe.type, .copies = forms};
  op.alone = forms == 1;
  CostModel model;
  model.kernels.amax = recipe.amax;
  return model.compute(op, device).total();
}

Seconds products(const Recipe& recipe, const Device& device) {
  Seconds out;
  for (const Shape& s : kShapes) {
    const MatMul op{.m = s.m, .n = s.n, .k = s.k, .in = recipe.type};
    const bool blocks = recipe.amax == Fusion::kBlocks;
    out = out + gemm_cost(op, device, blocks ? block_scaled_product(op, device) : 1).total();
  }
  return out;
}

Seconds casts(const Recipe& recipe, const Device& device) {
  Seconds out;
  for (const Shape& s : kShapes)
    out = out + cast(s.m * s.k, 2, recipe, device) + cast(s.k * s.n, 1, recipe, device);
  return out;
}

void expect_times(const char* name, double bf16_ms, const std::vector<Recipe>& recipes,
                  double tolerance) {
  const Device device = find_device(name);
  const Recipe bf16{"bf16", DType::kBf16, Fusion::kFused, false, bf16_ms};
  const double machine = 1e-3 * bf16_ms / products(bf16, device).value;
  for (const Recipe& r : recipes) {
    const Seconds own = r.casts ? casts(r, device) : Seconds();
    const double ms = 1e3 * (machine * products(r, device) + own).value;
    EXPECT_NEAR(ms / r.ms, 1, tolerance) << name << ", " << r.name << ": " << ms << " ms";
  }
}

TEST(TeRecipes, OnH200) {
  expect_times("h200-nvl", 32.014,
               {{"one scale, products", DType::kFp8, Fusion::kFused, false, 16.785},
                {"delayed scaling", DType::kFp8, Fusion::kFused, true, 18.978},
                {"current scaling", DType::kFp8, Fusion::kEager, true, 20.285},
                {"scales of blocks", DType::kFp8, Fusion::kBlocks, true, 22.882}},
               0.03);
}

TEST(TeRecipes, OnB300) {
  expect_times("b300", 12.758,
               {{"one scale, products", DType::kFp8, Fusion::kFused, false, 6.812},
                {"MXFP8, products", DType::kFp8, Fusion::kBlocks, false, 7.161},
                {"nvfp4, products", DType::kNvfp4, Fusion::kFused, false, 3.764},
                {"delayed scaling", DType::kFp8, Fusion::kFused, true, 7.802},
                {"current scaling", DType::kFp8, Fusion::kEager, true, 9.147},
                {"MXFP8", DType::kFp8, Fusion::kBlocks, true, 8.984},
                {"nvfp4", DType::kNvfp4, Fusion::kFused, true, 6.453}},
               0.07);
}

}  // namespace plait::te_recipes_test
