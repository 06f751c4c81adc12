#pragma once
// A small model whose layers are as a pattern says.
#include <string>
#include <utility>

#include "model/model.h"

namespace plait {

inline Model small_hybrid(std::string pattern) {
  Model m;
  m.layers = static_cast<std::int64_t>(pattern.size()), m.layer_pattern = std::move(pattern);
  m.hidden = 16, m.ffn_hidden = 24, m.heads = 4, m.kv_heads = 2, m.head_dim = 4, m.vocab = 32;
  m.state_size = 5, m.state_heads = 6, m.state_head_dim = 3, m.state_groups = 2;
  m.conv_width = 4, m.scan_chunk = 3;
  return m;
}

}  // namespace plait
