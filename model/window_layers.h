#pragma once
// Which layers see all tokens although the model has a window, out of a list of all its layers, as
// configurations have one beside a rule or in place of it.

#include <cstdint>
#include <optional>
#include <vector>

namespace plait {

/// Model::full_attention_first and full_attention_every.
struct FullAttention {
  std::int64_t first = 0, every = 0;
};

/// Of layers that have a window, or see all tokens, as listed: of the rules that say so the one
/// with the fewest first layers. Nothing where none does.
std::optional<FullAttention> full_attention_of(const std::vector<bool>& windowed);

}  // namespace plait
