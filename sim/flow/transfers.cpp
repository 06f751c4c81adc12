#include "sim/flow/transfers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "costmodel/held_multiprocessors.h"

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
  const int sms = cluster.shares_memory()
                      ? 0
                      : held_multiprocessors(c, algorithm, group, cluster.kind(group.kind),
                                             costs.calibration.get());
  return {{FlowKind::What::kCollective, axis_set, way_of_sending(c, algorithm)}, sms};
}

FlowKind kind_of(const Send& send) {
  return {.what = send.offset > 0 ? FlowKind::What::kForward : FlowKind::What::kBackward};
}

constexpr FlowKind kKernels = {.what = FlowKind::What::kKernel};

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

/// How the collectives of one op run, worked out once per site.
class Choices {
 public:
  Choices(const Op& op, const Cluster& cluster, const CostModel& costs, const Sites& sites)
      : op_(op),
        collective_(std::get_if<Collective>(&op.body)),
        axis_set_(collective_ == nullptr ? 0 : axis_set_of(sites, *collective_)),
        cluster_(cluster),
        costs_(costs),
        sites_(sites) {}

  const Choice& at(std::size_t stage, std::int64_t position) {
    if (collective_ == nullptr) {
      message_.kind = kind_of(std::get<Send>(op_.body));
      return message_;
    }
    const std::uint32_t site =
        sites_.axis_sets[axis_set_].site.at(static_cast<std::int64_t>(stage), position);
    const auto [at, fresh] = by_site_.try_emplace(site);
    if (fresh) {
      at->second = choose(*collective_, sites_.groups[site], axis_set_, cluster_, costs_);
    }
    return at->second;
  }
  Bytes bytes() const {
    return collective_ != nullptr ? collective_->bytes() : std::get<Send>(op_.body).bytes;
  }

 private:
  const Op& op_;
  const Collective* collective_;
  std::size_t axis_set_;
  const Cluster& cluster_;
  const CostModel& costs_;
  const Sites& sites_;
  std::map<std::uint32_t, Choice> by_site_;
  Choice message_;
};

/// The rate at which `bytes` take the time that they flow, on the flow's widest connection. Where a
/// link of it is narrower than that, they take longer.
void find_rate(Bytes bytes, TransferDemand& d) {
  const double widest = static_cast<double>(bytes.value) * d.flow->widest;
  d.rate = std::max<FlowRate>(1, std::llround(widest / to_seconds(d.flowing).value));
  if (d.rate <= d.flow->limit) return;
  d.rate = d.flow->limit;
  d.flowing = to_sim_time(Seconds(widest / static_cast<double>(d.rate)));
}

}  // namespace

std::vector<FlowKind> flow_kinds(const Plan& plan, const Cluster& cluster, const CostModel& costs,
                                 const Sites& sites) {
  std::set<FlowKind> kinds;
  if (cluster.shares_memory()) kinds.insert(kKernels);
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
  demands_.resize(plan.programs.size() * ops_ * lanes_);
  for_each_op(plan, [&](const Op& op, std::size_t id) {
    if (const Compute* kernel = std::get_if<Compute>(&op.body); kernel && cluster.shares_memory())
      return add_kernel(costs.memory_bytes(*kernel, cluster.device), id, kinds, loads, durations);
    if (!std::holds_alternative<Collective>(op.body) && !std::holds_alternative<Send>(op.body)) {
      return;
    }
    Choices choices(op, cluster, costs, sites);
    for (std::size_t s = 0; s < plan.programs.size(); ++s) {
      for (std::size_t l = 0; l < lanes_; ++l) {
        const Choice& chosen = choices.at(s, loads.lanes().representative[l]);
        const SimTime duration = durations.row(s, id).at(l);
        TransferDemand& d = demands_[(s * ops_ + id) * lanes_ + l];
        const auto kind = std::ranges::lower_bound(kinds, chosen.kind) - kinds.begin();
        d.kind = static_cast<std::uint32_t>(kind);
        d.sms = chosen.sms;
        d.flowing = flowing(durations.cost(s, l, id), duration);
        d.start_up = duration - d.flowing;
        d.flow = loads.flow(d.kind, s, l);
        if (d.flowing > 0 && d.flow != nullptr) find_rate(choices.bytes(), d);
      }
    }
  });
}

/// A kernel moves its bytes all the while that it runs.
void Transfers::add_kernel(Bytes bytes, std::size_t op, const std::vector<FlowKind>& kinds,
                           const LinkLoads& loads, const Durations& durations) {
  if (bytes.value == 0) return;
  const auto kind =
      static_cast<std::size_t>(std::ranges::lower_bound(kinds, kKernels) - kinds.begin());
  const std::size_t stages = demands_.size() / (ops_ * lanes_);
  for (std::size_t s = 0; s < stages; ++s) {
    for (std::size_t l = 0; l < lanes_; ++l) {
      const SimTime duration = durations.row(s, op).at(l);
      const SimTime launch = to_sim_time(durations.cost(s, l, op).share[kLaunchOverhead]);
      if (duration <= launch) continue;
      TransferDemand& d = demands_[(s * ops_ + op) * lanes_ + l];
      d.kind = static_cast<std::uint32_t>(kind);
      d.start_up = launch, d.flowing = duration - launch;
      d.flow = loads.flow(kind, s, l);
      find_rate(bytes, d);
    }
  }
}

}  // namespace plait
