#include "sim/durations.h"

#include <algorithm>
#include <map>

#include "costmodel/held_multiprocessors.h"
#include "costmodel/issue.h"
#include "sim/step_length.h"

namespace plait {
namespace {
constexpr std::uint32_t kByLane = 0x80000000U;
}

/// Prices every op of every stage once, whatever the number of lanes that share the price.
class Durations::Pricer {
 public:
  Pricer(Durations& out, const Plan& plan, const Cluster& cluster, const CostModel& costs,
         const Sites& sites, const Lanes& lanes, bool interference)
      : out_(out),
        plan_(plan),
        cluster_(cluster),
        model_(costs),
        sites_(sites),
        lanes_(lanes),
        interference_(interference && !cluster.shares_memory()),
        ranks_per_node_(std::min(cluster.devices_per_node, plan.mesh.world_size())) {}

  void run() {
    const auto stages = static_cast<std::size_t>(plan_.mesh[Axis::kPp]);
    out_.lanes_ = lanes_.count();
    for (const Block& b : plan_.blocks) {
      out_.first_op_.push_back(out_.ops_);
      out_.ops_ += b.ops.size();
      for (const Seconds t : issue_times(b, model_.host, model_.kernels))
        out_.issue_.push_back(to_sim_time(t));
      for (std::size_t i = 0; i < b.ops.size(); ++i) {
        const Op& op = b.ops[i];
        out_.host_wait_after_.push_back(wait_after(b, i, model_.host));
        out_.kernel_.push_back(std::holds_alternative<Compute>(op.body) &&
                               op.stream == Stream::kCompute && !runs_on_processor(plan_, op));
      }
    }
    out_.host_takes_time_ = model_.host.takes_time();
    out_.slots_.resize(stages * out_.ops_);
    out_.cost_of_.resize(stages * out_.ops_);
    collect_factors(stages);
    collect_multiprocessors(stages);
    const std::vector<std::vector<bool>> called = called_blocks();
    for (std::size_t b = 0; b < plan_.blocks.size(); ++b) {
      for (const Op& op : plan_.blocks[b].ops) {
        by_site_.clear(), rows_.clear();
        for (std::size_t s = 0; s < stages; ++s) {
          if (called.empty() || called[s][b]) price(s, op);
        }
        ++op_;
      }
    }
  }

 private:
  /// By stage and block, where stages differ so much that one's ops make no sense on another.
  std::vector<std::vector<bool>> called_blocks() const {
    std::vector<std::vector<bool>> out;
    if (plan_.stage_tp.empty()) return out;
    for (const Program& program : plan_.programs) {
      out.emplace_back(plan_.blocks.size(), false);
      for (const Call& call : program.calls) out.back()[call.block] = true;
    }
    return out;
  }
  void collect_factors(std::size_t stages) {
    if (sites_.factor.uniform() && sites_.factors[sites_.factor.at(0, 0)] == 1) return;
    for (std::size_t s = 0; s < stages; ++s) {
      for (std::int64_t r : lanes_.representative) {
        out_.factors_.push_back(sites_.factors[sites_.factor.at(static_cast<std::int64_t>(s), r)]);
      }
    }
  }
  /// Of processors none, and none where kernels are not to be slowed down.
  int multiprocessors(std::size_t kind) const {
    const Device& device = cluster_.kind(kind).device;
    return interference_ && device.compute_capability > 0 ? device.sms : 0;
  }
  void collect_multiprocessors(std::size_t stages) {
    if (sites_.kind.uniform()) {
      out_.multiprocessors_ = {multiprocessors(sites_.kind.at(0, 0))};
      return;
    }
    for (std::size_t s = 0; s < stages; ++s) {
      for (std::int64_t r : lanes_.representative) {
        out_.multiprocessors_.push_back(
            multiprocessors(sites_.kind.at(static_cast<std::int64_t>(s), r)));
      }
    }
  }

  /// What ranks of the lane do not do takes them no time.
  bool runs(const Op& op, std::size_t stage, std::int64_t position) const {
    const auto s = static_cast<std::int64_t>(stage);
    return runs_on(plan_, op, sites_.roles[sites_.role.at(s, position)]);
  }
  bool all_run(const Op& op, std::size_t stage) const {
    return sites_.role.uniform() || std::ranges::all_of(lanes_.representative, [&](std::int64_t p) {
             return runs(op, stage, p);
           });
  }

  void price(std::size_t stage, const Op& op) {
    const SiteMap* map = site_map(op);
    const auto s = static_cast<std::int64_t>(stage);
    const bool is_compute = std::holds_alternative<Compute>(op.body);
    const bool sites_agree = (map->uniform() || agree(*map, s)) && all_run(op, stage);
    const bool factors_agree = !is_compute || out_.factors_.empty();
    const std::size_t slot = stage * out_.ops_ + op_;
    if (sites_agree) {
      const std::uint32_t c = cost(op, map->at(s, lanes_.representative[0]));
      out_.cost_of_[slot] = c;
      if (factors_agree) {
        const auto found = rows_.find(c);
        if (found == rows_.end()) rows_[c] = push(op, c, 1);
        out_.slots_[slot] = {rows_[c], false};
        return;
      }
      out_.slots_[slot] = {static_cast<std::uint32_t>(out_.pool_.size()), true};
      for (std::size_t l = 0; l < lanes_.count(); ++l) {
        push(op, c, out_.factor(stage, l));
      }
      return;
    }
    std::vector<std::uint32_t> each;
    out_.slots_[slot] = {static_cast<std::uint32_t>(out_.pool_.size()), true};
    for (std::int64_t r : lanes_.representative) {
      const double factor = factors_agree ? 1 : out_.factor(stage, each.size());
      each.push_back(runs(op, stage, r) ? cost(op, map->at(s, r)) : nothing());
      push(op, each.back(), factor);
    }
    out_.cost_of_[slot] = kByLane | static_cast<std::uint32_t>(out_.by_lane_.size());
    out_.by_lane_.push_back(std::move(each));
  }
  bool agree(const SiteMap& map, std::int64_t stage) const {
    for (std::int64_t r : lanes_.representative) {
      if (map.at(stage, r) != map.at(stage, lanes_.representative[0])) return false;
    }
    return true;
  }
  std::uint32_t push(const Op& op, std::uint32_t cost, double factor) {
    const Seconds time = out_.costs_[cost].total() * factor;
    if (time > to_seconds(kLongestTime)) {
      refuse_length("one " + std::string(name_of(op)), time, out_.costs_[cost].share);
    }
    out_.pool_.push_back(to_sim_time(time));
    return static_cast<std::uint32_t>(out_.pool_.size() - 1);
  }
  const SiteMap* site_map(const Op& op) const {
    if (const Collective* c = std::get_if<Collective>(&op.body)) {
      return &sites_.axis_sets[lanes_.grouping(*c)].site;
    }
    if (const Send* s = std::get_if<Send>(&op.body))
      return &(s->offset > 0 ? sites_.next : sites_.previous);
    if (const Recv* r = std::get_if<Recv>(&op.body))
      return &(r->offset > 0 ? sites_.next : sites_.previous);
    return &sites_.kind;
  }
  std::uint32_t nothing() {
    out_.costs_.emplace_back();
    out_.held_.push_back(0);
    return static_cast<std::uint32_t>(out_.costs_.size() - 1);
  }
  /// Index of the cost of this op at this site.
  std::uint32_t cost(const Op& op, std::uint32_t site) {
    const auto found = by_site_.find(site);
    if (found != by_site_.end()) return found->second;
    const std::int64_t sharers = op.stream == Stream::kCompute ? 1 : ranks_per_node_;
    const Priced priced =
        std::visit(Cases{*this, site, runs_on_processor(plan_, op), sharers}, op.body);
    out_.costs_.push_back(priced.cost);
    out_.held_.push_back(priced.held);
    return by_site_[site] = static_cast<std::uint32_t>(out_.costs_.size() - 1);
  }
  struct Priced {
    Cost cost;
    int held = 0;  // multiprocessors
  };
  struct Cases {
    Pricer& p;
    std::uint32_t site;
    bool on_host;
    std::int64_t sharers;  // ranks that do the same on the same node
    Priced operator()(const Compute& c) const {
      return {on_host ? p.model_.on_processor(c, sharers)
                      : p.model_.compute(c, p.cluster_.kind(site).device)};
    }
    Priced operator()(const Collective& c) const {
      const GroupPlacement& group = p.sites_.groups[site];
      const CollectiveCost priced = p.model_.collective(c, group, p.cluster_);
      p.remember(c, site, priced);
      return {priced.cost, p.held(c, group, priced.algorithm)};
    }
    Priced operator()(const Send& s) const {
      return {p.model_.transfer(bytes_at_busier_end(s), p.sites_.paths[site].all)};
    }
    Priced operator()(const Recv& r) const {
      return {p.model_.transfer(bytes_at_busier_end(r), p.sites_.paths[site].all)};
    }
    Priced operator()(const Copy& c) const {
      return {p.model_.copy(c, p.cluster_.kind(site), sharers)};
    }
  };
  /// Collectives across stages, whose members begin at times of their own, keep none.
  int held(const Collective& c, const GroupPlacement& group, Algorithm algorithm) const {
    if (!interference_ || c.axes.has(Axis::kPp)) return 0;
    return held_multiprocessors(c, algorithm, group, cluster_.kind(group.kind),
                                model_.calibration.get());
  }
  void remember(const Collective& c, std::uint32_t site, const CollectiveCost& priced) {
    for (const Choice& known : out_.choices_) {
      if (known.site == site && known.op.kind == c.kind && known.op.axes == c.axes &&
          known.op.dtype == c.dtype && known.op.elements == c.elements &&
          known.op.projections == c.projections) {
        return;
      }
    }
    out_.choices_.push_back({c, site, priced});
  }

  Durations& out_;
  const Plan& plan_;
  const Cluster& cluster_;
  const CostModel& model_;
  const Sites& sites_;
  const Lanes& lanes_;
  bool interference_;
  std::int64_t ranks_per_node_;
  std::size_t op_ = 0;
  std::map<std::uint32_t, std::uint32_t> by_site_, rows_;  // of the current op
};

Durations::Durations(const Plan& plan, const Cluster& cluster, const CostModel& costs,
                     const Sites& sites, const Lanes& lanes, bool interference) {
  Pricer(*this, plan, cluster, costs, sites, lanes, interference).run();
}

double Durations::factor(std::size_t stage, std::size_t lane) const {
  return factors_.empty() ? 1.0 : factors_[stage * lanes_ + lane];
}

std::uint32_t Durations::cost_index(std::size_t stage, std::size_t lane, std::size_t op) const {
  const std::uint32_t index = cost_of_[stage * ops_ + op];
  return (index & kByLane) == 0 ? index : by_lane_[index & ~kByLane][lane];
}

const Cost& Durations::cost(std::size_t stage, std::size_t lane, std::size_t op) const {
  return costs_[cost_index(stage, lane, op)];
}

bool Durations::holds(std::size_t stage, std::size_t op) const {
  const std::uint32_t index = cost_of_[stage * ops_ + op];
  if ((index & kByLane) == 0) return held_[index] > 0;
  return std::ranges::any_of(by_lane_[index & ~kByLane],
                             [&](std::uint32_t cost) { return held_[cost] > 0; });
}

int Durations::held(std::size_t stage, std::size_t lane, std::size_t op) const {
  return held_[cost_index(stage, lane, op)];
}

bool Durations::same(std::size_t a, std::size_t b) const {
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (multiprocessors(a, lane) != multiprocessors(b, lane)) return false;
    for (std::size_t op = 0; op < ops_; ++op) {
      if (row(a, op).at(lane) != row(b, op).at(lane)) return false;
      if (held(a, lane, op) != held(b, lane, op)) return false;
    }
  }
  return true;
}

}  // namespace plait
