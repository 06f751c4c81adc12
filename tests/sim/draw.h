#pragma once
// Random cases, drawn by rapidcheck.

#include <rapidcheck.h>

#include "tests/sim/cases.h"

namespace plait {

/// The whole range from the first case on.
inline std::int64_t pick(std::int64_t from, std::int64_t to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(from, to + 1));
}

/// A third on machines of several kinds of nodes, where there are several nodes.
inline Case any_machine() {
  const Case c = RandomCase(pick).draw();
  return pick(0, 2) == 0 ? mixed(c) : c;
}

}  // namespace plait
