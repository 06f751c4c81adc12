#include "sim/event/links.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "sim/event/cores.h"

namespace plait {
namespace {

constexpr double kFrame = 1514;  // bytes: an Ethernet frame of 1500 and its header

double per_picosecond(BytesPerSecond rate) {
  return rate.value / static_cast<double>(kPicosecondsPerSecond);
}

/// Picoseconds until `amount` has passed at `rate`, rounded up; at most 11 days.
SimTime time_for(double amount, double rate) {
  return static_cast<SimTime>(std::clamp(std::ceil(amount / rate), 1.0, 1e18));
}

}  // namespace

SharedLinks::SharedLinks(const std::vector<SharedLink>& links) {
  for (const SharedLink& l : links) {
    PLAIT_CHECK(l.rate.value > 0 && l.peak >= l.rate && l.burst.value >= 0, "a link of no rate");
    const auto burst = static_cast<double>(l.burst.value);
    links_.push_back({.rate = per_picosecond(l.rate),
                      .peak = per_picosecond(l.peak),
                      .burst = burst,
                      .tokens = burst,
                      .acknowledged = l.acknowledged});
  }
}

void SharedLinks::start(SimTime now, std::uint32_t flow, std::array<std::uint32_t, 2> over,
                        std::array<std::uint32_t, 2> back, Bytes bytes) {
  serve_until(now);
  const auto at = std::ranges::lower_bound(flows_, flow, {}, &Flow::id);
  const double a = links_[back[0]].acknowledged, b = links_[back[1]].acknowledged;
  flows_.insert(at, {.id = flow,
                     .uses = {Use{over[0], 1}, Use{over[1], 1}, Use{back[0], a}, Use{back[1], b}},
                     .left = static_cast<double>(bytes.value)});
  changed_ = true;
}

void SharedLinks::serve_until(SimTime now) {
  const auto dt = static_cast<double>(now - now_);
  now_ = now;
  if (dt == 0) return;
  for (Flow& f : flows_) f.left -= f.rate * dt;
  for (Link& l : links_) {
    l.tokens = std::clamp(l.tokens + (l.rate - l.passes) * dt, 0.0, l.burst);
  }
}

SimTime SharedLinks::next() {
  if (changed_) share();
  SimTime soonest = kNever;
  for (const Flow& f : flows_) {
    soonest = std::min(soonest, f.left <= 0 ? now_ : now_ + time_for(f.left, f.rate));
  }
  for (const Link& l : links_) {
    if (!l.open || l.passes <= l.rate) continue;
    soonest = std::min(soonest, now_ + time_for(l.tokens, l.passes - l.rate));
  }
  return soonest;
}

void SharedLinks::advance(SimTime now, std::vector<std::uint32_t>& ended) {
  serve_until(now);
  // Times are whole picoseconds: what passes within one is nothing.
  std::erase_if(flows_, [&](const Flow& f) {
    if (f.left > f.rate) return false;
    ended.push_back(f.id);
    return changed_ = true;
  });
  for (Link& l : links_) {
    if (!l.open || l.tokens > std::max(0.0, l.passes - l.rate)) continue;
    l.tokens = 0;
    changed_ = true;
  }
}

/// Progressive filling: raises all rates alike until a link is full, settles the flows over it, and
/// goes on with the others.
void SharedLinks::share() {
  changed_ = false;
  for (Link& l : links_) {
    l.open = l.tokens >= kFrame || (l.open && l.tokens > 0);
    l.free = l.open ? l.peak : l.rate;
    l.passes = 0;
    l.demand = 0;
  }
  for (Flow& f : flows_) {
    f.settled = false;
    for (const Use& u : f.uses) links_[u.link].demand += u.share;
  }
  for (std::size_t left = flows_.size(); left > 0;) {
    const auto full = static_cast<std::uint32_t>(tightest());
    const double rate = links_[full].free / links_[full].demand;
    const auto crosses = [full](const Use& u) { return u.link == full && u.share > 0; };
    for (Flow& f : flows_) {
      if (f.settled || !std::ranges::any_of(f.uses, crosses)) continue;
      settle(f, rate);
      --left;
    }
  }
}

/// Of the links that a flow without rate crosses. Sums of shares that have all been taken away
/// again may differ from zero by roundings.
std::size_t SharedLinks::tightest() const {
  constexpr double kNothing = 1e-9;
  std::size_t least = links_.size();
  for (std::size_t l = 0; l < links_.size(); ++l) {
    if (links_[l].demand < kNothing) continue;
    if (least == links_.size() ||
        links_[l].free / links_[l].demand < links_[least].free / links_[least].demand) {
      least = l;
    }
  }
  return least;
}

void SharedLinks::settle(Flow& flow, double rate) {
  flow.settled = true;
  flow.rate = rate;
  for (const Use& u : flow.uses) {
    links_[u.link].free = std::max(0.0, links_[u.link].free - rate * u.share);
    links_[u.link].passes += rate * u.share;
    links_[u.link].demand -= u.share;
  }
}

}  // namespace plait
