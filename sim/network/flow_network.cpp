#include "sim/network/flow_network.h"

#include <algorithm>

#include "core/error.h"

namespace plait {
void FlowNetwork::start(SimTime now, std::uint32_t owner, std::span<const LinkUse> uses,
                        FlowRate cap, SimTime at_cap, FlowLabel label) {
  PLAIT_CHECK(now >= now_ && cap > 0 && at_cap >= 0 && label < kFlowLabels,
              "a flow that cannot be");
  if (changed_ && now > now_) settle();
  now_ = now;
  const FlowId id = max_min_.insert(uses, cap);
  if (running_.size() <= id) running_.resize(id + 1);
  Running& r = running_[id];
  r = {owner, label, r.version + 1, now + at_cap, now, cap, kNoLink, 0};
  ends_.push(r.end, {id, r.version});
  changed_ = true;
}

SimTime FlowNetwork::next() {
  if (changed_) settle();
  return earliest();
}

/// New rates from now on, and what they mean for the ends.
void FlowNetwork::settle() {
  changed_ = false;
  other_rate_.clear();
  max_min_.solve(other_rate_);
  for (const FlowId id : other_rate_) {
    Running& r = running_[id];
    const FlowRate rate = std::max<FlowRate>(max_min_.rate(id), 1);
    if (rate == r.rate) continue;
    log(r, id, now_);
    ends_.forget(r.end);
    r.end = counted_sum(now_, scaled_up(r.end - now_, r.rate, rate));
    r.rate = rate;
    r.since = now_;
    r.bottleneck = max_min_.bottleneck(id);
    if (log_ != nullptr) r.with = others_on(r.bottleneck, id);
    ends_.push(r.end, {id, ++r.version});
  }
}

void FlowNetwork::log(const Running& r, FlowId flow, SimTime now) const {
  if (log_ == nullptr || r.bottleneck == kNoLink || now == r.since) return;
  const SimTime time = now - r.since;
  const SimTime lost = time - scaled_up(time, r.rate, max_min_.cap(flow));
  log_->push_back({r.owner, r.label, r.bottleneck, r.with, time, lost});
}

std::uint64_t FlowNetwork::others_on(std::uint32_t link, FlowId flow) const {
  if (link == kNoLink) return 0;
  std::uint64_t labels = 0;
  max_min_.for_each_on(link, [&](FlowId other) {
    if (other != flow) labels |= std::uint64_t{1} << running_[other].label;
  });
  return labels != 0 ? labels : std::uint64_t{1} << running_[flow].label;
}

void FlowNetwork::advance(SimTime now, std::vector<std::uint32_t>& ended) {
  const std::size_t first = ended.size();
  PLAIT_CHECK(next() >= now, "a flow has ended before");
  now_ = now;
  ends_.advance(now, [this](const End& e) { return live(e); });
  while (earliest() <= now) {
    due_.clear();
    ends_.take_earliest(due_);
    for (const End& e : due_) {
      Running& r = running_[e.flow];
      if (r.version != e.version) continue;
      log(r, e.flow, now);
      ended.push_back(r.owner);
      max_min_.erase(e.flow);
      ++r.version;
      changed_ = true;
    }
  }
  std::sort(ended.begin() + static_cast<std::ptrdiff_t>(first), ended.end());
}

}  // namespace plait
