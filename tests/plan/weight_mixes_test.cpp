// How weights are packed: llama.cpp's mixes of formats, and rows that a format cannot pack.
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "model/presets.h"
#include "plan/memory.h"
#include "plan/serving.h"

namespace plait::weight_mixes_test {

std::int64_t weight_bytes(const Model& m, const ServingPrecision& p) {
  ServingLayout whole;
  whole.map = even_layers(m.layers, 1);
  const Plan plan = make_serving_plan(m, {{}, {1, 1, 8}, 1}, p, whole, 1);
  return live_memory(plan, 0).by_class[static_cast<std::size_t>(TensorClass::kWeight)].value;
}

/// With an embedding table that is packed too, which ours is not.
double file_bytes(const char* preset, WeightFormat mix, double table_bits) {
  const Model m = *find_preset(preset);
  ServingPrecision p;
  p.weights = mix, p.head = WeightFormat::kQ6K;
  const auto table = static_cast<double>(m.vocab * m.hidden);
  return static_cast<double>(weight_bytes(m, p)) - 2 * table + table_bits / 8 * table;
}

// bartowski/Meta-Llama-3.1-8B-Instruct-GGUF: Q4_K_M has 4.92 GB, Q5_K_M 5.73.
TEST(WeightMixes, TakeTheBytesOfTheirFiles) {
  EXPECT_NEAR(file_bytes("llama-3.1-8b", WeightFormat::kQ4KM, 4.5), 4.92e9, 0.006 * 4.92e9);
  EXPECT_NEAR(file_bytes("llama-3.1-8b", WeightFormat::kQ5KM, 5.5), 5.73e9, 0.006 * 5.73e9);
  EXPECT_EQ(most_of(WeightFormat::kQ4KM), WeightFormat::kQ4K);
  EXPECT_FALSE(is_mix(WeightFormat::kQ6K));
}

// Down projections of 29,568 columns, 115.5 blocks of 256, are in Q5_0 and Q8_0.
// bartowski/Qwen2.5-72B-Instruct-GGUF: Q4_K_M has 47,415,707,136 bytes.
TEST(WeightMixes, FallBackWhereRowsAreNotWholeBlocks) {
  EXPECT_NEAR(file_bytes("qwen-2.5-72b", WeightFormat::kQ4KM, 4.5), 47.416e9, 0.006 * 47.416e9);
}

/// Bytes less than in 16 bits.
std::int64_t packed(const Model& m, WeightFormat format) {
  ServingPrecision p, plain;
  p.weights = p.experts = format;
  return weight_bytes(m, plain) - weight_bytes(m, p);
}

TEST(WeightFormats, PackTheMatricesOfModelsThatArePublishedSo) {
  for (const char* preset :
       {"deepseek-v2-lite", "gpt-oss-20b", "falcon-7b", "qwen-2.5-0.5b", "gemma-3-1b"}) {
    for (const WeightFormat format :
         {WeightFormat::kQ4KM, WeightFormat::kQ2K, WeightFormat::kIq2Xxs, WeightFormat::kQ6K}) {
      EXPECT_GT(packed(*find_preset(preset), format), 0) << preset << " in " << name_of(format);
    }
  }
  for (const char* preset : {"qwen-2.5-0.5b", "gemma-3-1b"}) {
    EXPECT_GT(packed(*find_preset(preset), WeightFormat::kInt4), 0) << preset;
  }
}

/// With rows of `hidden` and of `ffn` weights.
Model with_rows(std::int64_t hidden, std::int64_t ffn) {
  Model m;
  m.layers = 1, m.hidden = hidden, m.ffn_hidden = ffn, m.vocab = 64;
  m.heads = m.kv_heads = 1, m.head_dim = hidden, m.max_positions = 64;
  return m;
}

// Q4_K: 144 bytes of 256 weights. Rows of 288 are whole blocks of 32
// and not of 256: Q5_0, 22 bytes of 32. Of 280 neither: 16 bits.
TEST(WeightFormats, OfWholeBlocksOf256FallBackMatrixByMatrix) {
  const auto saved = [](std::int64_t ffn) {
    return packed(with_rows(256, ffn), WeightFormat::kQ4K);
  };
  const auto of_256 = [](std::int64_t rows) { return rows * (2 * 256 - 144); };
  EXPECT_EQ(saved(512), of_256(3 * 256 + 256 + 2 * 512) + 2 * of_256(256));
  EXPECT_EQ(saved(288), of_256(3 * 256 + 256 + 2 * 288) + 256 * (2 * 288 - 288 / 32 * 22));
  EXPECT_EQ(saved(280), of_256(3 * 256 + 256 + 2 * 280));
}

TEST(WeightFormats, RefuseRowsOfPartsOfBlocksAndNameOthers) {
  const auto refused = [](const Model& m, WeightFormat format) {
    ServingPrecision p;
    p.weights = format;
    try {
      weight_bytes(m, p);
    } catch (const InputError& e) {
      return e.text().code + ": " + e.text().cure;
    }
    return std::string();
  };
  EXPECT_EQ(refused(with_rows(896, 4864), WeightFormat::kInt4), "");
  for (const WeightFormat format : {WeightFormat::kInt4, WeightFormat::kMxfp4}) {
    const std::string told = refused(with_rows(1000, 1000), format);
    EXPECT_NE(told.find("S060"), std::string::npos);
    EXPECT_NE(told.find("\"int8\""), std::string::npos) << told;
  }
}

}  // namespace plait::weight_mixes_test
