#include "plan/collectives/traffic.h"

#include <algorithm>
#include <tuple>

#include "plan/collectives/patterns.h"

namespace plait {
namespace {

std::int64_t size_of(const Pieces& block) {
  std::int64_t n = 0;
  for (const Range& r : block) n += r.elements;
  return n;
}

/// Each member sends the next one all shares but one: in a reduce_scatter its own, in an all_gather
/// the receiver's.
void add_ring(std::vector<Traffic>& out, CollectiveKind kind, const Team& team) {
  std::int64_t all = 0;
  for (std::int64_t p = 0; p < team.size(); ++p) all += size_of(team.share(p));
  for (std::int64_t p = 0; p < team.size(); ++p) {
    std::int64_t bytes = 0;
    if (kind != CollectiveKind::kAllGather) bytes += all - size_of(team.share(p));
    if (kind != CollectiveKind::kReduceScatter) bytes += all - size_of(team.share(p + 1));
    out.push_back({team.at(p), team.at(p + 1), Bytes(bytes)});
  }
}

/// What a member sends, and what it has from a switch.
void add_rounds(std::vector<Traffic>& out, std::int64_t member, const Rounds& rounds) {
  for (const Round& round : rounds) {
    for (const Transfer& t : round) {
      const Bytes bytes(t.range.elements);
      if (t.direction == Direction::kSend) {
        out.push_back({member, t.peer, bytes});
      } else if (t.peer == kSwitch) {
        out.push_back({kSwitch, member, bytes});
      }
    }
  }
}

/// Sorts what stands behind `first`, and makes one of what goes the same way.
void merge(std::vector<Traffic>& traffic, std::size_t first) {
  const auto pair = [](const Traffic& t) { return std::tie(t.from, t.to); };
  const auto begin = traffic.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(begin, traffic.end(),
            [&](const Traffic& a, const Traffic& b) { return pair(a) < pair(b); });
  auto end = begin;
  for (auto t = begin; t != traffic.end(); ++t) {
    if (t->bytes.value == 0) continue;
    if (end != begin && pair(*(end - 1)) == pair(*t)) {
      (end - 1)->bytes.value += t->bytes.value;
    } else {
      *end++ = *t;
    }
  }
  traffic.erase(end, traffic.end());
}

}  // namespace

std::vector<Traffic> traffic_of(const Arrangement& arrangement, CollectiveKind kind,
                                std::int64_t members, Bytes bytes) {
  std::vector<Traffic> out;
  const bool ring = arrangement.pattern == Pattern::kRing && kind != CollectiveKind::kBroadcast;
  check(arrangement, kind, members, bytes.value);
  Arrangement whole = arrangement;
  whole.chunks = 1;  // they change when bytes travel, not where
  for (std::int64_t k = 0; members > 1 && k < arrangement.channels; ++k) {
    Team team = channel_team(whole, kind, members, 0, bytes.value, k);
    if (ring) {
      add_ring(out, kind, team);
      continue;
    }
    for (team.place = 0; team.place < members; ++team.place) {
      const std::size_t before = out.size();
      const Rounds rounds = rounds_in(whole.pattern, kind, team, whole, k, bytes.value);
      add_rounds(out, team.at(team.place), rounds);
      merge(out, before);  // early: many rounds become few pairs
    }
  }
  merge(out, 0);
  return out;
}

Effort effort_of(const Arrangement& arrangement, CollectiveKind kind, std::int64_t members,
                 Bytes bytes) {
  Effort most;
  std::vector<bool> busy;  // rounds in which somebody does something
  for (std::int64_t i = 0; i < members; ++i) {
    Effort own;
    const Rounds rounds = all_rounds(arrangement, kind, members, i, bytes.value);
    busy.resize(std::max(busy.size(), rounds.size()));
    for (std::size_t k = 0; k < rounds.size(); ++k) {
      for (const Transfer& t : rounds[k]) {
        if (t.range.elements > 0) busy[k] = true;
        (t.direction == Direction::kSend ? own.sent : own.received).value += t.range.elements;
        if (t.combine) own.combined.value += t.range.elements;
      }
    }
    most.sent.value = std::max(most.sent.value, own.sent.value);
    most.received.value = std::max(most.received.value, own.received.value);
    most.combined.value = std::max(most.combined.value, own.combined.value);
  }
  most.rounds = std::ranges::count(busy, true);
  return most;
}

}  // namespace plait
