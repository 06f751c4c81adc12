#pragma once
// Flows over time: each goes on at its max-min fair rate until it has ended. Between changes rates
// are constant, so a flow that keeps its cap takes exactly the time that it was said to take.

#include <cstdint>
#include <span>
#include <vector>

#include "core/time.h"
#include "sim/network/max_min.h"
#include "sim/network/radix_heap.h"

namespace plait {

/// What a flow is to others that it meets: one of up to 64 labels.
using FlowLabel = std::uint8_t;
inline constexpr int kFlowLabels = 64;

/// A stretch of time in which a flow was slower than it can be.
struct HoldUp {
  std::uint32_t owner = 0;  // of the flow
  FlowLabel label = 0;
  std::uint32_t link = kNoLink;
  std::uint64_t with = 0;  // labels of the others on that link, a bit each; its own where it is
                           // alone there: then it stands for several
  SimTime time = 0;        // how long
  SimTime lost = 0;        // of this, how much the flow was delayed by
};

class FlowNetwork {
 public:
  /// Bytes per second of each link.
  explicit FlowNetwork(const std::vector<FlowRate>& capacity) : max_min_(capacity) {}

  /// A flow that takes `at_cap` if nothing holds it up. `owner` is what `advance` says has ended.
  /// Uses as for MaxMin::insert.
  void start(SimTime now, std::uint32_t owner, std::span<const LinkUse> uses, FlowRate cap,
             SimTime at_cap, FlowLabel label = 0);
  /// When the next flow ends if none starts before; RadixHeap::kEmpty without flows.
  SimTime next();
  /// Appends the owners of the flows that end at `now`, ascending. No flow may end before it.
  void advance(SimTime now, std::vector<std::uint32_t>& ended);

  /// From now on, appends a HoldUp for every stretch to `log`.
  void record(std::vector<HoldUp>* log) { log_ = log; }

 private:
  struct Running {
    std::uint32_t owner = 0;
    FlowLabel label = 0;
    std::uint32_t version = 0;  // of `end`
    SimTime end = 0;
    SimTime since = 0;  // it has had its rate
    FlowRate rate = 0;
    std::uint32_t bottleneck = kNoLink;
    std::uint64_t with = 0;
  };
  struct End {
    FlowId flow;
    std::uint32_t version;
  };
  void settle();
  bool live(const End& e) const { return running_[e.flow].version == e.version; }
  SimTime earliest() {
    return ends_.earliest([this](const End& e) { return live(e); });
  }
  void log(const Running& r, FlowId flow, SimTime now) const;
  std::uint64_t others_on(std::uint32_t link, FlowId flow) const;

  MaxMin max_min_;
  std::vector<Running> running_;  // by FlowId
  RadixHeap<End> ends_;
  std::vector<HoldUp>* log_ = nullptr;
  SimTime now_ = 0;
  bool changed_ = false;
  std::vector<FlowId> other_rate_;
  std::vector<End> due_;
};

}  // namespace plait
