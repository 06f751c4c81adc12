// Which layers cost alike, and the small models that have one kind behind the other.
#include "search/layer_kinds.h"

#include <gtest/gtest.h>

#include "tests/sim/cases.h"

namespace plait::layer_kinds_test {

Model hybrid(const std::string& pattern) {
  Model m = tiny_llama();
  m.layer_pattern = pattern, m.layers = static_cast<std::int64_t>(pattern.size());
  m.state_size = m.state_head_dim = 8, m.state_heads = m.state_groups = 12;
  return m;
}

LowRankAdapters adapters() {
  LowRankAdapters out;
  out.rank = 4;
  return out;
}

/// The letters of a small model with two layers of each kind.
std::string two_of_each(const Model& m) {
  const std::vector<KindOfLayers> kinds = kinds_of_layers(m, {});
  return with_layers(m, kinds, std::vector<std::int64_t>(kinds.size(), 2)).layer_pattern;
}

TEST(KindsOfLayers, AreTheirParts) {
  EXPECT_EQ(kinds_of_layers(tiny_llama(), {}).size(), 1U);
  EXPECT_EQ(two_of_each(hybrid("M-M*-M-")), "MM--**");
  EXPECT_EQ(two_of_each(hybrid("mam")), "mmaa");
}

TEST(KindsOfLayers, WithExpertsByTheirPlaceComeLast) {
  Model m = hybrid("mamaE-");
  m.experts = 4, m.experts_per_token = 1, m.expert_ffn_hidden = 8, m.first_dense_layers = 1;
  m.moe_every = 2;  // layers 1, 3 of m, a
  const std::vector<KindOfLayers> kinds = kinds_of_layers(m, {});
  const Model small = with_layers(m, kinds, std::vector<std::int64_t>(kinds.size(), 2));
  ASSERT_EQ(small.layers, 2 * static_cast<std::int64_t>(kinds.size()));
  for (std::int64_t l = 0; l < small.layers; ++l) {
    EXPECT_EQ(small.parts_of(l), kinds[static_cast<std::size_t>(l / 2)].parts) << l;
  }
}

// A module that predicts a further token has a layer like the last one.
TEST(KindsOfLayers, EndWithTheLastLayersWhereModulesFollowIt) {
  Model m = hybrid("amma");
  EXPECT_EQ(two_of_each(m), "aamm");
  m.mtp_layers = 1;
  EXPECT_EQ(two_of_each(m), "mmaa");
  EXPECT_TRUE(can_predict(m));
  m.experts = 4, m.experts_per_token = 1, m.expert_ffn_hidden = 8, m.moe_every = 2;
  EXPECT_FALSE(can_predict(m));  // its last layer has an MLP, others experts
}

TEST(KindsOfLayers, TheFirstOneIsAnotherWhereTheRestIsFrozen) {
  const Model m = tiny_llama();
  const std::vector<KindOfLayers> kinds = kinds_of_layers(m, adapters());
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_TRUE(kinds[0].first && !kinds[1].first);
  Model one = m;
  one.layers = 1;
  EXPECT_EQ(kinds_of_layers(one, adapters()).size(), 1U);
}

TEST(PassOfLayer, IsReadFromTheBlocksName) {
  const std::vector<KindOfLayers> hybrids = kinds_of_layers(hybrid("M-"), {});
  EXPECT_EQ(pass_of_layer("state_space_layer.backward.weights", hybrids).pass, "backward.weights");
  EXPECT_EQ(pass_of_layer("state_space_layer.forward", hybrids).kind, 0U);
  EXPECT_EQ(pass_of_layer("mlp_layer.forward.recompute", hybrids).kind, 1U);
  EXPECT_EQ(pass_of_layer("head.forward", hybrids).pass, "");
  const std::vector<KindOfLayers> frozen = kinds_of_layers(tiny_llama(), adapters());
  EXPECT_EQ(pass_of_layer("layer.first.backward", frozen).kind, 0U);
  EXPECT_EQ(pass_of_layer("layer.first.backward", frozen).pass, "backward");
  EXPECT_EQ(pass_of_layer("layer.backward", frozen).kind, 1U);
}

}  // namespace plait::layer_kinds_test
