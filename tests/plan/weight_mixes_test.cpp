// llama.cpp's mixes of weight formats.
#include <gtest/gtest.h>

#include "model/presets.h"
#include "plan/memory.h"
#include "plan/serving.h"

namespace plait::weight_mixes_test {

// bartowski/Meta-Llama-3.1-8B-Instruct-GGUF: Q4_K_M has 4.92 GB, Q5_K_M 5.73, with an embedding
// table that is packed too, which ours is not.
TEST(WeightMixes, TakeTheBytesOfTheirFiles) {
  const Model m = *find_preset("llama-3.1-8b");
  const auto file = [&](WeightFormat mix, double table_bits) {
    ServingPrecision p;
    p.weights = mix, p.head = WeightFormat::kQ6K;
    ServingLayout whole;
    whole.map = even_layers(m.layers, 1);
    const Plan plan = make_serving_plan(m, {{}, {1, 1, 8}, 1}, p, whole, 1);
    const auto weights =
        live_memory(plan, 0).by_class[static_cast<std::size_t>(TensorClass::kWeight)].value;
    const double table = static_cast<double>(m.vocab * m.hidden);
    return static_cast<double>(weights) - 2 * table + table_bits / 8 * table;
  };
  EXPECT_NEAR(file(WeightFormat::kQ4KM, 4.5), 4.92e9, 0.006 * 4.92e9);
  EXPECT_NEAR(file(WeightFormat::kQ5KM, 5.5), 5.73e9, 0.006 * 5.73e9);
  EXPECT_EQ(most_of(WeightFormat::kQ4KM), WeightFormat::kQ4K);
  EXPECT_FALSE(is_mix(WeightFormat::kQ6K));
}

}  // namespace plait::weight_mixes_test
