#pragma once
// The flows of a plan on the links of a machine, and which of them behave alike.
//
// A *flow* is what one group sends in one collective, or one rank to its neighbour stage: many
// connections that go on at one common pace. Each op that communicates over the same axes by the
// same algorithm uses the same flows, so they are worked out once per plan.
//
// Flows, links and positions are folded together: the coarsest partition in which links of one
// class have equal bandwidth and are crossed by as many flows of each class, flows of one class
// cross as many links of each class and join positions of the same classes, and positions of one
// class take part in flows of the same classes (an equitable partition, by colour refinement).
// Then, by induction over time, flows of one class always have the same rate, and one of each class
// stands for all.

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "sim/flow/connections.h"
#include "sim/lanes.h"
#include "sim/network/max_min.h"
#include "sim/sites.h"
#include "topologies/network.h"

namespace plait {

/// What flows are for: collectives over an axis set by an algorithm, messages between stages, or
/// kernels whose operands are in memory that devices share.
struct FlowKind {
  enum class What : std::uint8_t { kCollective, kForward, kBackward, kKernel };
  What what = What::kCollective;
  std::size_t axis_set = 0;  // index into Sites::axis_sets, of a collective
  WayOfSending how = {};
  auto operator<=>(const FlowKind&) const = default;
};

/// One flow class, as the network sees it.
struct FlowClass {
  std::vector<LinkUse> uses;  // of link classes, by all flows of the class together
  /// Bytes per second of its widest connection beyond which the flow alone would fill a link.
  FlowRate limit = 0;
  double widest = 0;  // bytes of the widest connection / S
  std::int64_t multiplicity = 0;
};

struct LinkClassLoad {
  LinkId representative = 0;
  FlowRate capacity = 0;
  std::int64_t multiplicity = 0;
};

class LinkLoads {
 public:
  /// `kinds`: ascending. `lanes` is folded further where the network tells its positions apart, or
  /// kept as it is where `unfold`.
  LinkLoads(const Plan& plan, const Cluster& cluster, const Sites& sites, const Network& network,
            const std::vector<std::int64_t>& placement, const std::vector<FlowKind>& kinds,
            bool unfold);

  const Lanes& lanes() const { return lanes_; }
  const std::vector<LinkClassLoad>& links() const { return links_; }
  /// Flows of a kind, of all classes.
  std::int64_t flows(std::size_t kind) const { return flows_[kind]; }
  /// The flow of this kind that the rank class takes part in (sends, for messages), or null.
  const FlowClass* flow(std::size_t kind, std::size_t stage, std::size_t lane) const {
    const std::uint32_t c = class_of_[(kind * stages_ + stage) * lanes_.count() + lane];
    return c < classes_.size() ? &classes_[c] : nullptr;
  }

 private:
  class Folding;
  std::size_t stages_ = 1;
  Lanes lanes_;
  std::vector<LinkClassLoad> links_;
  std::vector<FlowClass> classes_;
  std::vector<std::int64_t> flows_;      // per kind
  std::vector<std::uint32_t> class_of_;  // [kind][stage][lane]
};

}  // namespace plait
