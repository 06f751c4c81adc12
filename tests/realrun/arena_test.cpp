// Where tensors lie in one block of device memory: apart while both are needed, and no larger than
// it has to be.
#include "realrun/arena.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/places.h"
#include "realrun/issue_order.h"
#include "realrun/matrix/matrix.h"

namespace plait::arena_test {

/// Calls f(plan, stage) for every stage of the matrix.
template <class F>
void for_each_program(F&& f) {
  for (const MatrixCase& c : matrix_cases()) {
    SCOPED_TRACE(c.name);
    const Plan plan = make_plan(c.model, c.workload, c.strategy);
    for (std::size_t stage = 0; stage < plan.programs.size(); ++stage) {
      f(seen_from(plan, static_cast<std::int64_t>(stage)), stage);
    }
  }
}

std::vector<Role> roles_of(const Plan& plan) {
  std::vector<Role> out;
  for (std::int64_t r = 0; r < plan.mesh.world_size(); ++r) {
    const Role role = role_of(plan, r);
    if (std::ranges::find(out, role) == out.end()) out.push_back(role);
  }
  return out;
}
/// Calls f(plan, stage, role, place) for every program, role and place.
template <class F>
void for_each_arena(F&& f) {
  for_each_program([&](const Plan& plan, std::size_t stage) {
    for (const Role role : roles_of(plan)) {
      for (const Place place : {Place::kDevice, Place::kHost, Place::kStorage}) {
        f(plan, stage, role, place);
      }
    }
  });
}

struct Span {
  std::int64_t begin = 0, end = 0;

  bool shares_memory(const Span& other) const { return begin < other.end && other.begin < end; }
};
std::vector<Span> spans_of(const Plan& plan, const std::vector<Placed>& placed) {
  std::vector<Span> out;
  out.reserve(placed.size());
  for (const Placed& p : placed)
    out.push_back({p.offset, p.offset + plan.tensors[p.stay.tensor].bytes(plan.mesh).value});
  return out;
}

TEST(Arena, WhatLivesAtTheSameTimeLiesApart) {
  for_each_arena([](const Plan& plan, std::size_t stage, Role role, Place place) {
    const Arena a = arena(plan, stage, role, place);
    const std::vector<Span> staying = spans_of(plan, a.persistent);
    const std::vector<Span> passing = spans_of(plan, a.passing);
    for (std::size_t i = 0; i < passing.size(); ++i) {
      EXPECT_EQ(passing[i].begin % kArenaAlignment, 0);
      EXPECT_LE(passing[i].end, a.bytes);
      for (const Span& q : staying) ASSERT_FALSE(passing[i].shares_memory(q));
      // Begun before it and in use until its memory is taken.
      for (std::size_t j = 0; j < i; ++j) {
        const bool both = a.passing[j].released >= a.passing[i].stay.first;
        ASSERT_FALSE(both && passing[i].shares_memory(passing[j])) << i << " " << j;
      }
    }
  });
}

TEST(Arena, HoldsEveryStayOnce) {
  for_each_arena([](const Plan& plan, std::size_t stage, Role role, Place place) {
    const Arena a = arena(plan, stage, role, place);
    EXPECT_EQ(a.persistent.size() + a.passing.size(), stays(plan, stage, place, role).size());
    EXPECT_GE(a.bytes, live_memory(plan, stage, false, place, role).peak.value);
  });
}

/// What an op of another stream takes over was used last by ops that it waits for.
TEST(Arena, MemoryIsTakenOverFromComputeThatIsNamed) {
  for_each_arena([](const Plan& plan, std::size_t stage, Role role, Place place) {
    const Arena a = arena(plan, stage, role, place);
    const std::vector<Stream> streams = streams_of(plan, stage);
    const std::vector<Span> passing = spans_of(plan, a.passing);
    for (std::size_t i = 0; i < passing.size(); ++i) {
      const Placed& p = a.passing[i];
      const auto first = static_cast<std::size_t>(p.stay.first);
      for (std::size_t j = 0; j < passing.size(); ++j) {
        const std::int64_t released = a.passing[j].released;
        if (released >= p.stay.first || !passing[i].shares_memory(passing[j])) continue;
        EXPECT_LE(released, a.behind[first]);
      }
      if (a.behind[first] < 0) continue;
      EXPECT_EQ(streams[static_cast<std::size_t>(a.behind[first])], Stream::kCompute);
    }
  });
}

/// Whether `op` can only begin when `before` has ended: through what it waits for and the order of
/// the streams.
bool is_behind(const OpsBefore& waits, const std::vector<Stream>& streams, std::size_t op,
               std::size_t before) {
  std::vector<char> seen(op + 1);
  std::vector<std::size_t> open = {op};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (at == before) return true;
    if (at < before || seen[at] != 0) continue;
    seen[at] = 1;
    for (std::uint32_t w : waits[at]) open.push_back(w);
    for (std::size_t i = at; i-- > before;) {
      if (streams[i] != streams[at]) continue;
      open.push_back(i);
      break;
    }
  }
  return false;
}

TEST(Arena, TheFirstWaiterIsTheFirstComputeOpBehindIt) {
  std::size_t waited = 0;
  for_each_program([&](const Plan& plan, std::size_t stage) {
    const std::vector<std::int64_t> waiters = first_waiters(plan, stage);
    const OpsBefore before = ops_before(plan, stage);
    const std::vector<Stream> streams = streams_of(plan, stage);
    const std::size_t n = std::min<std::size_t>(streams.size(), 400);
    for (std::size_t c = 0; c < n; ++c) {
      if (streams[c] == Stream::kCompute) continue;
      for (std::size_t op = c + 1; op < n; ++op) {
        if (streams[op] != Stream::kCompute) continue;
        if (!is_behind(before, streams, op, c)) continue;
        EXPECT_EQ(waiters[c], static_cast<std::int64_t>(op)) << c;
        ++waited;
        break;
      }
    }
  });
  EXPECT_GT(waited, 1000U);
}

/// One rank of a model whose tensors are far larger than the alignment: what is lost between
/// tensors is little.
TEST(Arena, IsHardlyLargerThanWhatLives) {
  Model m;
  m.layers = 8, m.hidden = 512, m.heads = 8, m.kv_heads = 8, m.head_dim = 64;
  m.ffn_hidden = 2048, m.vocab = 4096, m.max_positions = 512;
  Workload w;
  w.sequence_length = 512, w.global_batch = 4;
  for (const Recompute kind : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    Strategy s;
    s.recompute.kind = kind;
    const Plan plan = make_plan(m, w, s);
    const auto peak = static_cast<double>(live_memory(plan, 0).peak.value);
    EXPECT_LE(static_cast<double>(arena(plan, 0).bytes), 1.03 * peak);
  }
}

}  // namespace plait::arena_test
