#pragma once
// Max-min fair rates of flows that share links: no flow can go faster without taking from one that
// is not faster (Bertsekas and Gallager 1992, section 6.5.2). A flow has a cap of its own, and may
// cross a link more than once, or with less than its whole rate: `weight`.
//
// Only what a change reaches is solved again. Given the flows that have come, and those that were
// held up by a link that others have left:
//
//   1. share out among them what all others leave over, link by link from the tightest (progressive
//      filling)
//   2. look at the links that they cross: a flow outside of the set that now has more than its
//      share there, or that was held up there and is no more, joins the set
//   3. until none joins
//
// Then each flow runs at its cap or has a link that is full and on which none is faster, and that
// is what max-min fair means. Rates are whole bytes per second and all flows that tie are settled
// at once, so the result depends neither on the order nor on the names of flows and links; a link
// may keep less than 1 byte/s for each flow.

#include <cstdint>
#include <span>
#include <vector>

namespace plait {

using FlowId = std::uint32_t;
using FlowRate = std::int64_t;  // bytes per second

/// What a flow takes of a link: weight / kWholeFlow of its rate.
struct LinkUse {
  std::uint32_t link = 0;
  std::int64_t weight = 0;
};
inline constexpr std::int64_t kWholeFlow = 4096;
inline constexpr std::uint32_t kNoLink = 0xFFFFFFFF;
/// Of a link: 1.1 PB/s. Its products with weights still are whole numbers of 63 bits.
inline constexpr FlowRate kMostCapacity = FlowRate{1} << 50;

class MaxMin {
 public:
  /// Bytes per second of each link, at most kMostCapacity.
  explicit MaxMin(const std::vector<FlowRate>& capacity);
  /// The uses must stay where they are until the flow is erased; each link at most once in them.
  /// Ids of erased flows are given out again. Rates are valid after `solve`.
  FlowId insert(std::span<const LinkUse> uses, FlowRate cap);
  void erase(FlowId flow);
  /// Settles what has changed; appends the flows whose rate is another than before, new ones too.
  void solve(std::vector<FlowId>& changed);

  FlowRate rate(FlowId flow) const { return flows_[flow].rate; }
  FlowRate cap(FlowId flow) const { return flows_[flow].cap; }
  /// The link that holds the flow up, or kNoLink.
  std::uint32_t bottleneck(FlowId flow) const { return flows_[flow].bottleneck; }
  /// Calls visit(flow) for all flows on a link.
  template <class Visit>
  void for_each_on(std::uint32_t link, Visit visit) const {
    for (const Member& m : links_[link].members) visit(m.flow);
  }

 private:
  struct Member {
    FlowId flow;
    std::uint32_t use;  // its place in the flow's uses
    std::int64_t weight;
  };
  // Products of rate and weight are in 1 / kWholeFlow bytes per second.
  struct Link {
    std::int64_t capacity = 0;  // rate times weight
    std::int64_t demand = 0;    // of all its flows at their caps, rounded up, in bytes per second
    std::vector<Member> members;
    // while solving
    std::int64_t residual = 0;  // what settled flows leave over
    std::int64_t weight = 0;    // of flows that are not settled
    std::int64_t all_weight = 0;
    FlowRate level = 0;  // at which it is full
    bool listed = false, full = false;
    /// Cannot hold anybody up: not even all caps together fill it.
    bool loose() const { return demand <= capacity / kWholeFlow; }
  };
  struct Flow {
    std::span<const LinkUse> uses;
    std::vector<std::uint32_t> place;  // per use: among the link's members
    FlowRate cap = 0, rate = 0, before = 0;
    std::uint32_t bottleneck = kNoLink;
    bool free = false;     // takes part in the solution at hand
    bool settled = false;  // has its rate in it
  };
  void free_flow(FlowId id);
  void list_links();
  void fill();
  bool settle_capped(FlowRate level);
  void settle(Flow& flow, FlowRate rate);
  FlowRate lowest_level();
  void settle_full(FlowRate level);
  bool free_violators();

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<FlowId> unused_;
  std::vector<FlowId> freed_;            // take part
  std::vector<FlowId> unsettled_;        // of these
  std::vector<std::uint32_t> left_;      // links that lost a flow
  std::vector<std::uint32_t> listed_;    // links of free flows that are not loose
  std::vector<std::uint32_t> unfilled_;  // of these
};

}  // namespace plait
