#pragma once
// Where the ranks of a plan are on the machine: for every axis set that collectives use, the
// placement of each position's group in each stage; for pipeline neighbours, their route; for each
// rank, the kind of its node, how much slower than its device type it is, and its role. Equal
// placements are stored once and named by a small number.

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "topologies/cluster.h"

namespace plait {

/// A number per (stage, position), kept as one where all agree and as one per stage where positions
/// do.
class SiteMap {
 public:
  SiteMap() = default;
  /// `values`: one; or one per stage; or one per stage and position, stage by stage.
  SiteMap(std::vector<std::uint32_t> values, std::int64_t stages, std::int64_t positions);
  std::uint32_t at(std::int64_t stage, std::int64_t position) const {
    return values_[static_cast<std::size_t>(stage * stage_step_ + position * position_step_)];
  }
  bool uniform() const { return stage_step_ == 0; }
  /// All of them, once or more often.
  const std::vector<std::uint32_t>& values() const { return values_; }
  /// All positions of a stage agree, whatever the stage.
  bool uniform_in_stages() const { return position_step_ == 0; }

 private:
  std::vector<std::uint32_t> values_ = {0};
  std::int64_t stage_step_ = 0, position_step_ = 0;
};

/// One axis set in use, within a stage (lane axes) or across stages.
struct AxisSites {
  AxisSet axes;
  Stages stages = Stages::kAll;
  SiteMap site;  // index into Sites::groups
};

struct Sites {
  std::vector<GroupPlacement> groups;
  std::vector<PeerPath> paths;
  std::vector<AxisSites> axis_sets;
  SiteMap next, previous;       // index into paths: route to the neighbouring stage
  std::vector<double> factors;  // distinct slow-downs; [0] = 1
  SiteMap factor;               // index into factors
  SiteMap kind;                 // of the rank's node: Cluster::kind
  SiteMap role;                 // index into roles
  std::vector<Role> roles = {Role{}};
};

/// `placement`: device of each place, or empty for place r on device r (devices_of_places).
Sites locate(const Plan& plan, const Cluster& cluster, const std::vector<std::int64_t>& placement);

}  // namespace plait
