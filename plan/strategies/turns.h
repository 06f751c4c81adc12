#pragma once
// Two passes that take turns: a part of the one, a part of the other.

#include <algorithm>
#include <vector>

#include "plan/plan.h"

namespace plait {

/// The calls of a pass, and at which of them its second part begins, its third one, and so on.
struct PassCalls {
  std::vector<Call> calls;
  std::vector<std::size_t> parts = {};

  /// Where part `i` begins; behind the last one, where it ends.
  std::size_t begin_of(std::size_t i) const {
    if (i == 0) return 0;
    return i <= parts.size() ? parts[i - 1] : calls.size();
  }
};

/// Appends the parts of both in turn, beginning with `first`; the longer one ends alone.
inline void take_turns(const PassCalls& first, const PassCalls& second, std::vector<Call>& to) {
  for (std::size_t i = 0; i <= std::max(first.parts.size(), second.parts.size()); ++i) {
    for (const PassCalls* pass : {&first, &second}) {
      for (std::size_t c = pass->begin_of(i); c < pass->begin_of(i + 1); ++c) {
        to.push_back(pass->calls[c]);
      }
    }
  }
}

}  // namespace plait
