// Low-rank adapters, run for real, against the gradient of the merged matrix: W' = W + s B A is
// trained as any other, and what it gives, G = dL / dW', is by the chain rule dL / dA = s B^T G and
// dL / dB = s G A^T. And what is frozen stays as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/realrun/run_on_one_rank.h"
#include "tests/realrun/verify_models.h"

namespace plait::lora_test {

using T = AdapterTarget;

Workload adapted(std::vector<T> targets) {
  Workload w = in_precision(small_workload(), RunPrecision::kFp64);
  w.lora = {3, 2, std::move(targets)};
  return w;
}

using Ran = RanOnOneRank;

/// Rows of a layer's matrix that factors belong to: of `name`, "layer.qkv", those of `part`, "q".
struct Factors {
  std::string name, part;
  std::int64_t first = 0, rows = 0, columns = 0;
};
std::vector<Factors> factors_of(const Model& m) {
  const std::int64_t h = m.hidden, f = m.ffn_hidden, q = m.query_width(), k = m.key_width();
  return {{"layer.qkv", ".q", 0, q, h},
          {"layer.qkv", ".k", q, k, h},
          {"layer.qkv", ".v", q + k, k, h},
          {"layer.attention_out", "", 0, h, q},
          {"layer.mlp_up", ".gate_half", 0, f, h},
          {"layer.mlp_up", ".up_half", f, f, h},
          {"layer.mlp_down", "", 0, h, f}};
}
std::vector<Factors> packed_factors_of(const Model& m) {
  const std::int64_t h = m.hidden, f = m.ffn_hidden;
  return {{"layer.qkv", "", 0, m.qkv_width(), h},
          {"layer.attention_out", "", 0, h, m.query_width()},
          {"layer.mlp_up", "", 0, m.mlp_input_width(f), h},
          {"layer.mlp_down", "", 0, h, f}};
}

class Merged {
 public:
  Merged(const LowRankAdapters& lora, const Matrices& start) : lora_(lora), start_(start) {}

  Matrices weights(const std::vector<Factors>& all, std::int64_t layers) const {
    Matrices out = start_;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      for (const Factors& f : all) add(f, layer, out.at(name(f.name, "", layer)));
    }
    return out;
  }
  void expect_gradients(const Factors& f, std::int64_t layer, const Matrices& got,
                        const Matrices& of_merged) const {
    const std::vector<double>& g = of_merged.at(name(f.name, "", layer));
    const std::vector<double>&a = factor("a", f, layer), &b = factor("b", f, layer);
    const std::vector<double>& da = got.at(name(f.name, ".lora_a" + f.part, layer));
    const std::vector<double>& db = got.at(name(f.name, ".lora_b" + f.part, layer));
    const std::int64_t r = lora_.rank;
    for (std::int64_t i = 0; i < r; ++i) {
      for (std::int64_t c = 0; c < f.columns; ++c) {
        double sum = 0;
        for (std::int64_t row = 0; row < f.rows; ++row)
          sum += at(b, row * r + i) * at(g, (f.first + row) * f.columns + c);
        EXPECT_NEAR(at(da, i * f.columns + c), lora_.scale() * sum, 1e-12) << f.name << f.part;
      }
      for (std::int64_t row = 0; row < f.rows; ++row) {
        double sum = 0;
        for (std::int64_t c = 0; c < f.columns; ++c)
          sum += at(g, (f.first + row) * f.columns + c) * at(a, i * f.columns + c);
        EXPECT_NEAR(at(db, row * r + i), lora_.scale() * sum, 1e-12) << f.name << f.part;
      }
    }
  }

 private:
  static double at(const std::vector<double>& v, std::int64_t i) {
    return v.at(static_cast<std::size_t>(i));
  }
  static std::string name(const std::string& matrix, const std::string& what, std::int64_t layer) {
    return matrix + what + ".weight of layer " + std::to_string(layer);
  }
  const std::vector<double>& factor(const std::string& letter, const Factors& f,
                                    std::int64_t layer) const {
    return start_.at(name(f.name, ".lora_" + letter + f.part, layer));
  }
  void add(const Factors& f, std::int64_t layer, std::vector<double>& w) const {
    const std::vector<double>&a = factor("a", f, layer), &b = factor("b", f, layer);
    for (std::int64_t row = 0; row < f.rows; ++row) {
      for (std::int64_t c = 0; c < f.columns; ++c) {
        double sum = 0;
        for (std::int64_t i = 0; i < lora_.rank; ++i)
          sum += at(b, row * lora_.rank + i) * at(a, i * f.columns + c);
        w.at(static_cast<std::size_t>((f.first + row) * f.columns + c)) += lora_.scale() * sum;
      }
    }
  }

  const LowRankAdapters& lora_;
  const Matrices& start_;
};

void expect_gradients_of_merged(const Model& m, const Workload& w,
                                const std::vector<Factors>& factors) {
  const Ran adapters = run_on_one_rank(m, w, nullptr, 1);
  const Merged merged(w.lora, adapters.before);
  const Matrices weights = merged.weights(factors, m.layers);
  Workload whole = w;
  whole.lora = {};
  const Ran all = run_on_one_rank(m, whole, &weights, 1);
  EXPECT_NEAR(adapters.loss, all.loss, 1e-12);
  EXPECT_EQ(adapters.gradients.size(), 2 * factors.size() * static_cast<std::size_t>(m.layers));
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    for (const Factors& f : factors)
      merged.expect_gradients(f, layer, adapters.gradients, all.gradients);
  }
}

TEST(Lora, GradientsAreThoseOfTheMergedMatrixTimesTheOtherFactor) {
  const std::vector<T> packed = {T::kQkv, T::kOut, T::kUp, T::kDown};
  expect_gradients_of_merged(small_llama(), adapted(packed), packed_factors_of(small_llama()));
  expect_gradients_of_merged(small_gpt(), adapted(packed), packed_factors_of(small_gpt()));
}

TEST(Lora, OfEachProjectionByItselfToo) {
  Model m = small_llama();
  m.kv_heads = 2;
  expect_gradients_of_merged(
      m, adapted({T::kQ, T::kK, T::kV, T::kOut, T::kGateHalf, T::kUpHalf, T::kDown}),
      factors_of(m));
}

TEST(Lora, FrozenWeightsDoNotMoveAndAdaptersDo) {
  const Ran ran = run_on_one_rank(small_gpt(), adapted({T::kQkv, T::kDown}), nullptr, 3);
  ASSERT_EQ(ran.before.size(), ran.after.size());
  for (const auto& [name, weights] : ran.after) {
    if (name.find("lora") == std::string::npos)
      EXPECT_EQ(weights, ran.before.at(name)) << name;
    else
      EXPECT_NE(weights, ran.before.at(name)) << name;
  }
}

TEST(Lora, GradientsWithDropoutAreTheSlopesOfTheLoss) {
  const Model m = small_llama();
  Workload w = adapted({T::kQ, T::kOut, T::kUp, T::kDown});
  const Ran without = run_on_one_rank(m, w, nullptr, 1);
  w.lora.dropout = 0.4;
  const Ran ran = run_on_one_rank(m, w, nullptr, 1);
  EXPECT_GT(std::abs(ran.loss - without.loss), 1e-4) << "something is dropped";
  expect_gradients_to_be_slopes(m, w, ran);
}

}  // namespace plait::lora_test
