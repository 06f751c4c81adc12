#include "sim/flow/transfers.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "costmodel/nccl_tuning.h"

namespace plait {
namespace {

std::size_t axis_set_of(const Sites& sites, const Collective& c) {
  const auto found = std::ranges::find_if(sites.axis_sets, [&](const AxisSites& a) {
    return a.axes == c.axes && a.stages == c.stages;
  });
  return static_cast<std::size_t>(found - sites.axis_sets.begin());
}

/// How a collective runs on one site.
struct Choice {
  FlowKind kind;
  int sms = 0;
};

Choice choose(const Collective& c, const GroupPlacement& group, std::size_t axis_set,
              const Cluster& cluster, const CostModel& costs) {
  const Algorithm algorithm = costs.collective(c, group, cluster).algorithm;
  const NodeKind& node = cluster.kind(group.kind);
  const bool gpu = node.device.compute_capability > 0 && group.ranks > 1;
  return {{FlowKind::What::kCollective, axis_set, algorithm, c.kind},
          gpu ? communicator_channels(nccl_group(c.kind, group, node)) : 0};
}

FlowKind kind_of(const Send& send) {
  return {.what = send.offset > 0 ? FlowKind::What::kForward : FlowKind::What::kBackward};
}

/// Of the duration, the part in which bytes flow.
SimTime flowing(const Cost& cost, SimTime duration) {
  Seconds t;
  for (int c = 0; c < kLinkClasses; ++c) t += cost.share[bandwidth_of(static_cast<LinkClass>(c))];
  return std::min(duration, to_sim_time(t));
}

template <class Visit>
void for_each_op(const Plan& plan, Visit visit) {
  std::size_t id = 0;
  for (const Block& b : plan.blocks) {
    for (const Op& op : b.ops) visit(op, id++);
  }
}

}  // namespace

std::vector<FlowKind> flow_kinds(const Plan& plan, const Cluster& cluster, const CostModel& costs,
                                 const Sites& sites) {
  std::set<FlowKind> kinds;
  for_each_op(plan, [&](const Op& op, std::size_t) {
    if (const Send* send = std::get_if<Send>(&op.body)) kinds.insert(kind_of(*send));
    const Collective* c = std::get_if<Collective>(&op.body);
    if (c == nullptr) return;
    const std::size_t set = axis_set_of(sites, *c);
    for (const std::uint32_t site : sites.axis_sets[set].site.values()) {
      kinds.insert(choose(*c, sites.groups[site], set, cluster, costs).kind);
    }
  });
  return {kinds.begin(), kinds.end()};
}

Transfers::Transfers(const Plan& plan, const Cluster& cluster, const CostModel& costs,
                     const Sites& sites, const std::vector<FlowKind>& kinds, const LinkLoads& loads,
                     const Durations& durations)
    : ops_(durations.ops()), lanes_(loads.lanes().count()) {
  const std::size_t stages = plan.programs.size();
  demands_.resize(stages * ops_ * lanes_);
  for_each_op(plan, [&](const Op& op, std::size_t id) {
    const Collective* c = std::get_if<Collective>(&op.body);
    const Send* send = std::get_if<Send>(&op.body);
    if (c == nullptr && send == nullptr) return;
    const std::size_t set = c == nullptr ? 0 : axis_set_of(sites, *c);
    std::map<std::uint32_t, Choice> by_site;
    for (std::size_t s = 0; s < stages; ++s) {
      for (std::size_t l = 0; l < lanes_; ++l) {
        TransferDemand& d = demands_[(s * ops_ + id) * lanes_ + l];
        Choice chosen;
        if (c != nullptr) {
          const std::uint32_t site = sites.axis_sets[set].site.at(static_cast<std::int64_t>(s),
                                                                  loads.lanes().representative[l]);
          const auto [at, fresh] = by_site.try_emplace(site);
          if (fresh) at->second = choose(*c, sites.groups[site], set, cluster, costs);
          chosen = at->second;
        } else {
          chosen.kind = kind_of(*send);
        }
        const SimTime duration = durations.row(s, id).at(l);
        d.kind = static_cast<std::uint32_t>(std::ranges::lower_bound(kinds, chosen.kind) -
                                            kinds.begin());
        d.sms = chosen.sms;
        d.flowing = flowing(durations.cost(s, l, id), duration);
        d.start_up = duration - d.flowing;
        d.flow = loads.flow(d.kind, s, l);
        if (d.flowing == 0 || d.flow == nullptr) continue;
        const Bytes bytes = c != nullptr ? c->bytes() : send->bytes;
        const double rate =
            static_cast<double>(bytes.value) * d.flow->widest / to_seconds(d.flowing).value;
        d.rate = std::clamp<FlowRate>(std::llround(rate), 1, d.flow->limit);
      }
    }
  });
}

}  // namespace plait
