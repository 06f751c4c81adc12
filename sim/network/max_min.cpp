#include "sim/network/max_min.h"

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace plait {
namespace {

constexpr FlowRate kUnbounded = std::numeric_limits<FlowRate>::max();

/// Bytes per second that a flow at `rate` takes of a link, rounded up.
FlowRate taken(FlowRate rate, std::int64_t weight) {
  // rate = q kWholeFlow + r, so that no product is too large.
  const FlowRate q = rate / kWholeFlow, r = rate % kWholeFlow;
  return q * weight + (r * weight + kWholeFlow - 1) / kWholeFlow;
}

}  // namespace

MaxMin::MaxMin(const std::vector<FlowRate>& capacity) : links_(capacity.size()) {
  for (std::size_t l = 0; l < capacity.size(); ++l) {
    PLAIT_CHECK(capacity[l] > 0 && capacity[l] <= kMostCapacity, "a link of impossible bandwidth");
    links_[l].capacity = capacity[l] * kWholeFlow;
  }
}

FlowId MaxMin::insert(std::span<const LinkUse> uses, FlowRate cap) {
  FlowId id = static_cast<FlowId>(flows_.size());
  if (unused_.empty()) {
    flows_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  Flow& f = flows_[id];
  f.uses = uses, f.cap = cap, f.rate = f.before = 0, f.bottleneck = kNoLink;
  f.place.resize(uses.size());
  for (std::size_t u = 0; u < uses.size(); ++u) {
    Link& l = links_[uses[u].link];
    f.place[u] = static_cast<std::uint32_t>(l.members.size());
    l.members.push_back({id, static_cast<std::uint32_t>(u), uses[u].weight});
    l.demand += taken(cap, uses[u].weight);
  }
  free_flow(id);
  return id;
}

void MaxMin::erase(FlowId id) {
  Flow& f = flows_[id];
  for (std::size_t u = 0; u < f.uses.size(); ++u) {
    Link& l = links_[f.uses[u].link];
    if (!l.loose()) left_.push_back(f.uses[u].link);
    l.demand -= taken(f.cap, f.uses[u].weight);
    const Member last = l.members.back();
    l.members[f.place[u]] = last;
    flows_[last.flow].place[last.use] = f.place[u];
    l.members.pop_back();
  }
  f.uses = {};
  if (f.free) std::erase(freed_, id);
  f.free = false;
  unused_.push_back(id);
}

void MaxMin::free_flow(FlowId id) {
  if (flows_[id].free) return;
  flows_[id].free = true;
  freed_.push_back(id);
}

void MaxMin::solve(std::vector<FlowId>& changed) {
  for (const std::uint32_t l : left_) {
    for (const Member& m : links_[l].members) {
      if (flows_[m.flow].bottleneck == l) free_flow(m.flow);
    }
  }
  left_.clear();
  if (freed_.empty()) return;
  do {
    list_links();
    fill();
  } while (free_violators());
  for (const FlowId id : freed_) {
    Flow& f = flows_[id];
    f.free = false;
    if (f.rate != f.before) changed.push_back(id);
    f.before = f.rate;
  }
  freed_.clear();
  for (const std::uint32_t l : listed_) links_[l].listed = false;
  listed_.clear();
}

void MaxMin::list_links() {
  for (const FlowId id : freed_) {
    for (const LinkUse& u : flows_[id].uses) {
      Link& l = links_[u.link];
      if (l.listed || l.loose()) continue;
      l.listed = true;
      listed_.push_back(u.link);
    }
  }
  for (const std::uint32_t id : listed_) {
    Link& l = links_[id];
    l.residual = l.capacity, l.weight = 0, l.all_weight = 0, l.full = false;
    for (const Member& m : l.members) {
      const Flow& f = flows_[m.flow];
      l.all_weight += m.weight;
      if (f.free) {
        l.weight += m.weight;
      } else {
        l.residual -= f.rate * m.weight;
      }
    }
  }
}

/// Rates rise together; who reaches its cap, or a link that is full, keeps what it has.
void MaxMin::fill() {
  unsettled_ = freed_;
  unfilled_ = listed_;
  for (const FlowId id : freed_) flows_[id].settled = false;
  while (!unsettled_.empty()) {
    const FlowRate level = lowest_level();
    if (!settle_capped(level)) settle_full(level);
    std::erase_if(unsettled_, [&](FlowId id) { return flows_[id].settled; });
  }
}

FlowRate MaxMin::lowest_level() {
  FlowRate lowest = kUnbounded;
  std::erase_if(unfilled_, [&](std::uint32_t id) {
    Link& l = links_[id];
    if (l.full || l.weight == 0) return true;
    l.level = std::max<FlowRate>(l.residual, 0) / l.weight;
    lowest = std::min(lowest, l.level);
    return false;
  });
  return lowest;
}

/// Settles the flows that reach their cap by the time rates have risen to `level`; true if any do.
bool MaxMin::settle_capped(FlowRate level) {
  bool any = false;
  for (const FlowId id : unsettled_) {
    if (flows_[id].cap > level) continue;
    settle(flows_[id], flows_[id].cap);
    flows_[id].bottleneck = kNoLink;
    any = true;
  }
  return any;
}

/// Settles the flows on all links that are full at `level`. Of several the first on the flow's way
/// is its bottleneck: this does not depend on how links are numbered.
void MaxMin::settle_full(FlowRate level) {
  for (const std::uint32_t id : unfilled_) links_[id].full = links_[id].level == level;
  for (const FlowId id : unsettled_) {
    Flow& f = flows_[id];
    const auto full = std::ranges::find_if(
        f.uses, [&](const LinkUse& u) { return links_[u.link].listed && links_[u.link].full; });
    if (full == f.uses.end()) continue;
    settle(f, level);
    f.bottleneck = full->link;
  }
}

void MaxMin::settle(Flow& flow, FlowRate rate) {
  flow.settled = true;
  flow.rate = rate;
  for (const LinkUse& u : flow.uses) {
    Link& l = links_[u.link];
    if (!l.listed) continue;
    l.weight -= u.weight;
    l.residual -= rate * u.weight;
  }
}

/// Flows outside of the set for which the rates are not fair any more. True if there are any.
bool MaxMin::free_violators() {
  const std::size_t before = freed_.size();
  for (const std::uint32_t id : listed_) {
    const Link& l = links_[id];
    const bool room = l.residual >= l.all_weight;  // for 1 byte/s more for everybody
    for (const Member& m : l.members) {
      const Flow& f = flows_[m.flow];
      if (f.free) continue;
      const bool held_up = f.bottleneck == id;
      const bool unfair =
          l.full ? f.rate > l.level || (held_up && f.rate < l.level) : held_up && room;
      if (unfair) free_flow(m.flow);
    }
  }
  return freed_.size() > before;
}

}  // namespace plait
