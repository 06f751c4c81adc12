#include "sim/link_traffic.h"

#include <map>
#include <utility>

#include "plan/places.h"
#include "plan/walk.h"
#include "sim/flow/connections.h"
#include "sim/sites.h"
#include "topologies/placement.h"

namespace plait {
namespace {

/// visit(op, how often one rank of `stage` runs it in a step).
template <class Visit>
void for_each_run(const Plan& plan, std::size_t stage, Visit visit) {
  const std::vector<std::int64_t> runs = runs_of_blocks(plan, stage);
  for (std::size_t b = 0; b < runs.size(); ++b) {
    if (runs[b] == 0) continue;
    for (const Op& op : plan.blocks[b].ops) visit(op, static_cast<double>(runs[b]));
  }
}

class Loader {
 public:
  Loader(const Plan& plan, const Cluster& cluster, const CostModel& costs,
         const std::vector<std::int64_t>& placement, const Network& network)
      : plan_(plan),
        cluster_(cluster),
        costs_(costs),
        placement_(placement),
        network_(network),
        sites_(locate(plan, cluster, devices_of_places(plan, placement))) {
    out_.collectives.resize(network.links().size(), 0);
    out_.messages.resize(network.links().size(), 0);
  }

  LinkTraffic run() {
    for (std::size_t s = 0; s < plan_.programs.size(); ++s) send_messages(s);
    for (std::size_t a = 0; a < sites_.axis_sets.size(); ++a) run_collectives(a);
    return std::move(out_);
  }

 private:
  using Volumes = std::map<WayOfSending, double>;  // sums of nccl-tests' S, bytes a step

  std::int64_t device(std::int64_t rank) const { return device_of(rank, placement_); }
  void add(std::int64_t from, std::int64_t to, std::uint64_t connection, double bytes,
           std::vector<double>& links) {
    route_.clear();
    network_.route(from, to, connection, route_);
    for (const LinkId l : route_) links[l] += bytes;
  }

  void send_messages(std::size_t stage) {
    std::map<std::pair<Axis, int>, double> bytes;
    for_each_run(plan_, stage, [&](const Op& op, double runs) {
      const Send* send = std::get_if<Send>(&op.body);
      if (send == nullptr) return;
      bytes[{send->axis, send->offset}] += runs * static_cast<double>(send->bytes.value);
    });
    for (const auto& [way, sum] : bytes) {
      const std::int64_t first =
          rank_at(plan_, static_cast<std::int64_t>(stage) * plan_.places_per_stage());
      const std::int64_t ranks = ranks_of_stage(plan_, static_cast<std::int64_t>(stage));
      for (std::int64_t rank = first; rank < first + ranks; ++rank) {
        for (const std::int64_t to : peers(plan_, rank, way.first, way.second)) {
          add(device(rank), device(to), 0, sum, out_.messages);
        }
      }
    }
  }

  /// Each group once, by its first rank.
  void run_collectives(std::size_t axis_set) {
    const AxisSites& set = sites_.axis_sets[axis_set];
    std::vector<bool> seen(static_cast<std::size_t>(rank_count(plan_)), false);
    std::map<std::pair<std::size_t, std::uint32_t>, Volumes> known;  // by stage and site
    for (std::int64_t rank = 0; rank < rank_count(plan_); ++rank) {
      const std::int64_t of_rank = stage_of_rank(plan_, rank);
      const auto stage = static_cast<std::size_t>(of_rank);
      const bool joins = first_of_meeting(set.stages, of_rank,
                                          static_cast<std::int64_t>(plan_.programs.size())) >= 0;
      if (seen[static_cast<std::size_t>(rank)] || !joins) continue;
      std::vector<std::int64_t> group = members(plan_, rank, set.axes, set.stages);
      for (std::int64_t& member : group) {
        seen[static_cast<std::size_t>(member)] = true;
        member = device(member);
      }
      if (group.size() < 2) continue;
      const std::uint32_t site =
          set.site.at(of_rank, first_place_of(plan_, rank) % plan_.places_per_stage());
      const auto [at, fresh] = known.try_emplace({stage, site});
      if (fresh) at->second = volumes(set, stage, sites_.groups[site]);
      for (const auto& [how, bytes] : at->second) spread(how, bytes, group);
    }
  }

  /// What one group of this stage moves, by how it moves it.
  Volumes volumes(const AxisSites& set, std::size_t stage, const GroupPlacement& group) const {
    Volumes out;
    for_each_run(plan_, stage, [&](const Op& op, double runs) {
      const Collective* c = std::get_if<Collective>(&op.body);
      if (c == nullptr || !(c->axes == set.axes) || c->stages != set.stages) return;
      const Algorithm algorithm = costs_.collective(*c, group, cluster_).algorithm;
      out[way_of_sending(*c, algorithm)] += runs * static_cast<double>(c->bytes().value);
    });
    return out;
  }

  void spread(const WayOfSending& how, double bytes, const std::vector<std::int64_t>& group) {
    const std::vector<Connection> connections = connections_of(how, plan_.servers, group, cluster_);
    for (std::size_t i = 0; i < connections.size(); ++i) {
      const Connection& c = connections[i];
      add(c.from, c.to, i, bytes * c.share, out_.collectives);
    }
  }

  const Plan& plan_;
  const Cluster& cluster_;
  const CostModel& costs_;
  const std::vector<std::int64_t>& placement_;
  const Network& network_;
  Sites sites_;
  LinkTraffic out_;
  std::vector<LinkId> route_;
};

}  // namespace

LinkTraffic link_traffic(const Plan& plan, const Cluster& cluster, const CostModel& costs,
                         const std::vector<std::int64_t>& placement, const Network& network) {
  return Loader(plan, cluster, costs, placement, network).run();
}

}  // namespace plait
