#pragma once
// Presets of decoders with open weights and one MLP in each layer, and the shape that most share.

#include <string>
#include <vector>

#include "model/presets.h"

namespace plait {

struct LlamaShape {
  std::int64_t layers, hidden, ffn_hidden, heads, kv_heads, vocab, max_positions;
};

/// RMSNorm, SwiGLU, rotary positions, untied embeddings, no bias, no dropout (Touvron et al. 2023);
/// heads as wide as they share the hidden state.
Model llama(std::string name, const LlamaShape& shape);
/// Heads of 128 whatever the width, with norms of their own.
Model qwen_3(std::string name, const LlamaShape& shape);

void append_dense(std::vector<Preset>& table);

}  // namespace plait
