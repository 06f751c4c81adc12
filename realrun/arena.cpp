#include "realrun/arena.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "core/error.h"
#include "realrun/issue_order.h"

namespace plait {
namespace {

/// Free stretches of the block by offset, and what lies behind the last one.
class FreeSpace {
 public:
  struct Taken {
    std::int64_t offset = 0, behind = -1;
  };
  /// The smallest stretch that is large enough, or new memory at the end.
  Taken take(std::int64_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      const bool fits = it->second.bytes >= bytes;
      if (fits && (best == free_.end() || it->second.bytes < best->second.bytes)) best = it;
    }
    if (best == free_.end()) return grow(bytes);
    const auto [offset, hole] = *best;
    free_.erase(best);
    if (hole.bytes > bytes) free_[offset + bytes] = {hole.bytes - bytes, hole.behind};
    return {offset, hole.behind};
  }
  /// Gives back; neighbours that are free become one with it.
  void put(std::int64_t offset, std::int64_t bytes, std::int64_t behind) {
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && next->first == offset + bytes) {
      bytes += next->second.bytes, behind = std::max(behind, next->second.behind);
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second.bytes == offset) {
        offset = before->first, bytes += before->second.bytes;
        behind = std::max(behind, before->second.behind);
        free_.erase(before);
      }
    }
    free_[offset] = {bytes, behind};
  }
  std::int64_t end() const { return end_; }

 private:
  struct Hole {
    std::int64_t bytes = 0, behind = -1;
  };
  /// From the last stretch on where that reaches the end.
  Taken grow(std::int64_t bytes) {
    Taken out{end_, -1};
    if (!free_.empty()) {
      const auto last = std::prev(free_.end());
      if (last->first + last->second.bytes == end_) {
        out = {last->first, last->second.behind};
        free_.erase(last);
      }
    }
    end_ = out.offset + bytes;
    return out;
  }

  std::map<std::int64_t, Hole> free_;
  std::int64_t end_ = 0;
};

std::int64_t room_for(const Plan& plan, const Stay& stay) {
  const std::int64_t bytes = plan.tensors[stay.tensor].bytes(plan.mesh).value;
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

using Key = std::tuple<TensorId, std::int32_t, std::int32_t>;

/// Of each stay: the first waiter of the last communication that touches it.
std::vector<std::int64_t> releases(const Plan& plan, std::size_t stage, Role role,
                                   const std::vector<Stay>& all) {
  const std::vector<std::int64_t> waiters = first_waiters(plan, stage, role);
  std::map<Key, std::vector<std::size_t>> by_member;
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    by_member[{all[i].tensor, all[i].layer, all[i].microbatch}].push_back(i);
    out.push_back(all[i].last);
  }
  std::int64_t flat = 0;
  for (const Call& call : plan.programs[stage].calls) {
    for (const Op& op : plan.blocks[call.block].ops) {
      for (const Operand& o : op.operands) {
        const TensorId root = storage_of(plan, o.tensor);
        const Scope scope = plan.tensors[root].scope;
        const auto member = by_member.find({root, per_layer(scope) ? call.layer + o.shift : 0,
                                            per_microbatch(scope) ? call.microbatch : 0});
        if (op.stream == Stream::kCompute || member == by_member.end()) continue;
        for (std::size_t i : member->second) {
          const bool here = all[i].first <= flat && flat <= all[i].last;
          if (here) out[i] = std::max(out[i], waiters[static_cast<std::size_t>(flat)]);
        }
      }
      ++flat;
    }
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> first_waiters(const Plan& plan, std::size_t stage, Role role) {
  const OpsBefore before = ops_before(plan, stage);
  const std::vector<Stream> streams = streams_of(plan, stage);
  const std::vector<bool> runs = runs_of(plan, stage, role);
  const auto n = static_cast<std::int64_t>(streams.size());
  std::vector<std::int64_t> out(streams.size(), n);
  std::array<std::int64_t, kStreams> next;  // first waiter of the next op of each stream
  next.fill(n);
  for (std::int64_t op = n; op-- > 0;) {
    const auto at = static_cast<std::size_t>(op);
    if (!runs[at]) {
      out[at] = 0;
      continue;
    }
    const bool computes = streams[at] == Stream::kCompute;
    if (!computes) {
      std::int64_t& later = next[static_cast<std::size_t>(streams[at])];
      out[at] = later = std::min(out[at], later);
    }
    const std::int64_t waiter = computes ? op : out[at];
    for (std::uint32_t b : before[at]) out[b] = std::min(out[b], waiter);
    if (computes) out[at] = 0;
  }
  return out;
}

Arena arena(const Plan& plan, std::size_t stage, Role role, Place place) {
  const std::vector<Stay> all = stays(plan, stage, place, role);
  const std::vector<std::int64_t> released = releases(plan, stage, role, all);
  const std::vector<Stream> streams = streams_of(plan, stage);
  Arena out;
  out.behind.assign(streams.size(), -1);
  FreeSpace space;
  std::multimap<std::int64_t, const Placed*> ends;
  out.passing.reserve(all.size());
  for (const Stay& s : all) {
    if (plan.tensors[s.tensor].persistent) {
      out.persistent.push_back({s, space.take(room_for(plan, s)).offset, 0});
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Stay& s = all[i];
    if (plan.tensors[s.tensor].persistent) continue;
    while (!ends.empty() && ends.begin()->first < s.first) {
      const Placed& p = *ends.begin()->second;
      space.put(p.offset, room_for(plan, p.stay), p.released);
      ends.erase(ends.begin());
    }
    const FreeSpace::Taken taken = space.take(room_for(plan, s));
    out.passing.push_back({s, taken.offset, released[i]});
    ends.emplace(released[i], &out.passing.back());
    std::int64_t& behind = out.behind[static_cast<std::size_t>(s.first)];
    behind = std::max(behind, taken.behind);
  }
  out.bytes = space.end();
  return out;
}

}  // namespace plait
