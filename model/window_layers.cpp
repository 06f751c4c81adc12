#include "model/window_layers.h"

#include <algorithm>

namespace plait {
namespace {

/// The fewest first layers that see all tokens, where with `every` the others are as listed.
std::optional<std::int64_t> first_of(const std::vector<bool>& windowed, std::int64_t every) {
  const std::int64_t leading = std::ranges::find(windowed, true) - windowed.begin();
  std::int64_t first = 0;
  for (std::size_t i = 0; i < windowed.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i) + 1;
    const bool by_rule = every == 0 || number % every != 0;
    if (windowed[i] && !by_rule) return std::nullopt;
    if (!windowed[i] && by_rule) first = number;
  }
  return first <= leading ? std::optional(first) : std::nullopt;
}

}  // namespace

std::optional<FullAttention> full_attention_of(const std::vector<bool>& windowed) {
  std::optional<FullAttention> best;
  for (std::int64_t every = 0; every <= static_cast<std::int64_t>(windowed.size()); ++every) {
    const auto first = first_of(windowed, every);
    if (first && (!best || *first < best->first)) best = FullAttention{*first, every};
  }
  return best;
}

}  // namespace plait
