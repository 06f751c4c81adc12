#pragma once
// Why layouts of a search cannot be planned.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "search/work.h"

namespace plait {

/// An error, and how many layouts it refuses.
struct Refusal {
  InputError::Text why;  // as of the first of them
  std::int64_t layouts = 0;
};

/// The number of an error among all: codes are a letter and digits.
std::int64_t number_of(std::string_view code);

/// The errors of layouts of `work` that are refused, the most frequent first. Each layout goes with
/// what is known of it: the error's number, or, of those that have no bound, that alone; of these
/// one of each cut is planned.
std::vector<Refusal> refusals(const SearchWork& work,
                              const std::vector<std::pair<std::uint32_t, Answer>>& refused,
                              int threads);

}  // namespace plait
