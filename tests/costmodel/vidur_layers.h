#pragma once
// Vidur's profiles of the layers of models under tensor parallelism (vLLM on A100, H100 and A40):
// each kernel's median, in ticks of a microsecond.

#include "costmodel/kernels.h"
#include "tests/costmodel/measured_kernels.h"

namespace plait {

/// A layer of one model on one rank of tensor parallelism, as Vidur profiles it.
struct Layer {
  std::int64_t tokens, width, query, key, hidden;
  bool gated;
  explicit Layer(const Record& r) {
    const auto number = [&](const char* field) { return std::stoll(r.at(field)); };
    const std::int64_t ranks = number("num_tensor_parallel_workers");
    tokens = number("num_tokens"), width = number("n_embd");
    const std::int64_t head = width / number("n_head");
    query = number("n_head") / ranks * head;
    key = std::max<std::int64_t>(number("n_kv_head") / ranks, 1) * head;
    hidden = number("n_expanded_embd") / ranks;
    gated = r.at("use_gated_mlp") == "True";
  }
  std::map<std::string, MatMul> products() const {
    const auto y = [&](std::int64_t n, std::int64_t k) {
      return MatMul{.m = tokens, .n = n, .k = k};
    };
    return {{"attn_pre_proj", y(query + 2 * key, width)},
            {"attn_post_proj", y(width, query)},
            {"mlp_up_proj", y((gated ? 2 : 1) * hidden, width)},
            {"mlp_down_proj", y(width, hidden)}};
  }
  /// Of those kernels that training runs too.
  std::map<std::string, Compute> streams() const {
    return {{"add", Add{.rows = tokens, .width = width}},
            {"attn_rope", Rope{.rows = tokens, .width = query + key}},
            {"emb", Embedding{.rows = tokens, .width = width, .vocab = 1 << 30}}};
  }
};

inline Seconds time_of(const Record& r, const std::string& op) {
  const std::string text = r.at("time_stats." + op + ".median");
  return Seconds(text.empty() ? 0 : std::stod(text) * 1e-3);
}

inline void for_each_layer(const std::filesystem::path& kernels, const std::string& gpu,
                           auto&& visit) {
  for (const auto& table : tables(kernels / "vidur", "compute@" + gpu + "@"))
    for (const Record& r : read_table(table)) visit(r, Layer(r));
}

}  // namespace plait
