#include "sim/lane_clocks.h"

#include <algorithm>

// Wide integer maxima need AVX2 or AVX-512; the loader picks the best version for the machine.
// Integer arithmetic gives the same result in each.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !(defined(__clang__) && __clang_major__ < 16)
#define PLAIT_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PLAIT_WIDE
#endif

namespace plait {
namespace {

PLAIT_WIDE void add_each(SimTime* __restrict clock, const SimTime* __restrict d, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) clock[i] += d[i];
}

PLAIT_WIDE void add_same(SimTime* __restrict clock, SimTime d, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) clock[i] += d;
}

PLAIT_WIDE void max_each(SimTime* __restrict to, const SimTime* __restrict from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = from[i] > to[i] ? from[i] : to[i];
}

/// Groups of 8 adjacent lanes, the usual tensor-parallel size.
PLAIT_WIDE void meet_adjacent8(SimTime* __restrict clock, std::size_t groups) {
  for (std::size_t g = 0; g < groups; ++g, clock += 8) {
    SimTime m[8];
    for (std::size_t k = 0; k < 4; ++k) m[k] = clock[k] > clock[k + 4] ? clock[k] : clock[k + 4];
    for (std::size_t k = 0; k < 2; ++k) m[k] = m[k] > m[k + 2] ? m[k] : m[k + 2];
    const SimTime latest = m[0] > m[1] ? m[0] : m[1];
    for (std::size_t k = 0; k < 8; ++k) clock[k] = latest;
  }
}

PLAIT_WIDE void fill(SimTime* to, SimTime value, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = value;
}

void meet_adjacent(SimTime* clock, std::size_t groups, std::size_t members) {
  for (std::size_t g = 0; g < groups; ++g, clock += members) {
    fill(clock, *std::max_element(clock, clock + members), members);
  }
}

void meet_strided(SimTime* clock, std::size_t members, std::size_t inner, SimTime* scratch) {
  std::copy(clock, clock + inner, scratch);
  for (std::size_t m = 1; m < members; ++m) max_each(scratch, clock + m * inner, inner);
  for (std::size_t m = 0; m < members; ++m) std::copy(scratch, scratch + inner, clock + m * inner);
}

}  // namespace

void raise_each(SimTime* to, const SimTime* from, std::size_t lanes) {
  if (to != from) max_each(to, from, lanes);
}

void advance_each(SimTime* clock, const DurationRow& row, std::size_t lanes) {
  row.per_lane ? add_each(clock, row.value, lanes) : add_same(clock, *row.value, lanes);
}

void meet(SimTime* clock, const Grouping& g, std::size_t lanes, SimTime* scratch) {
  if (lanes == 1) return;
  if (g.strided()) {
    const auto outer = static_cast<std::size_t>(g.outer);
    const auto members = static_cast<std::size_t>(g.members);
    const auto inner = static_cast<std::size_t>(g.inner);
    if (inner == 1 && members == 8) return meet_adjacent8(clock, outer);
    if (inner == 1) return meet_adjacent(clock, outer, members);
    for (std::size_t o = 0; o < outer; ++o)
      meet_strided(clock + o * members * inner, members, inner, scratch);
    return;
  }
  std::fill(scratch, scratch + g.groups, 0);
  for (std::size_t l = 0; l < lanes; ++l) {
    scratch[g.group_of[l]] = std::max(scratch[g.group_of[l]], clock[l]);
  }
  for (std::size_t l = 0; l < lanes; ++l) clock[l] = scratch[g.group_of[l]];
}

}  // namespace plait
