#pragma once
// Why a space holds no layout: sizes that would divide if they might be others.

#include <cstdint>
#include <string_view>
#include <vector>

#include "search/space.h"

namespace plait {

struct FreedSize {
  std::string_view field;            // "strategy.tp"
  std::vector<std::int64_t> asked;   // which the space allows
  std::vector<std::int64_t> others;  // which layouts have where it allows all
};

/// Of a space without layouts: each size that alone keeps them away.
std::vector<FreedSize> freed_sizes(const SpaceOf& of);

}  // namespace plait
