#pragma once
// Sizes that a space asks for and no layout has: why it holds none, and what is not tried of it.

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

struct UntriedSize {
  std::string_view field;            // "strategy.tp"
  std::vector<std::int64_t> values;  // ascending
};

/// Of a space with `layouts`: values that it lists beside others and none of them has, as they do
/// not divide with the other sizes. Replicas of which both dp and fsdp are listed are not asked
/// about: layouts that make the same plan come once.
std::vector<UntriedSize> untried_sizes(const Space& space, const Layouts& layouts);

}  // namespace plait
