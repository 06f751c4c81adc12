#pragma once
// Megatron-LM's --recompute-method block in words: "full, block, 4 layers", "block 4",
// "--recompute-granularity full --recompute-method block --recompute-num-layers 4". The first so
// many layers of each chunk are computed again (megatron/core/transformer/transformer_block.py),
// which is strategy.recompute.layers.

#include <cstdint>
#include <optional>
#include <string>

namespace plait {

/// Of a text that names the method and the number of layers, in small letters; nothing of others.
std::optional<std::int64_t> layers_of_block(const std::string& text);

}  // namespace plait
