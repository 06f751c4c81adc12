#pragma once
// Whether the middle of a recorded step repeats itself so that further periods would do exactly as
// its last one does, and all behind them as in this step, later. search/few_microbatches.h says
// when, and why.

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"
#include "sim/further_periods.h"
#include "sim/simulate.h"

namespace plait {

/// What two plans' programs of a stage have in common, in calls.
struct CommonCalls {
  std::size_t period = 0;  // L
  std::size_t prefix = 0;  // c
  std::size_t suffix = 0;  // f
};

class SteadyMiddle {
 public:
  /// `more`: the plan of `later` microbatches more than `few`, which `run` is a recorded simulation
  /// of. All three outlive it.
  SteadyMiddle(const Plan& few, const Simulation& run, const Plan& more, std::int64_t later);

  /// Whether calls repeat, and what comes before c is the same with any further period. Where it is
  /// false, longer plans do not help.
  bool repeats() const;
  /// So many further periods; nothing where the last ones differ. Requires repeats().
  std::optional<FurtherPeriods> further(std::int64_t count) const;

 private:
  bool stages_have_periods() const;
  bool periods_before(std::size_t periods) const;
  bool prefix_is_closed() const;
  bool all_recorded() const;
  std::optional<std::size_t> periods_waited_for() const;
  bool alike(std::size_t periods, SimTime longer) const;
  bool host_keeps_up(SimTime longer) const;
  bool ends_behind() const;

  const std::vector<Op>& ops_of(std::size_t stage, std::size_t call) const;
  std::uint32_t message(std::size_t stage, std::size_t call) const;
  /// The call that stands so many periods before c; the first op of a call, flat.
  std::size_t before(std::size_t stage, std::size_t periods) const;
  std::size_t op(std::size_t stage, std::size_t call) const { return first_op_[stage][call]; }
  /// That of the call `periods` before c, in the stage of a track.
  std::size_t op_before(const Track& track, std::size_t periods) const;

  const Plan& few_;
  const Simulation& run_;
  std::vector<CommonCalls> common_;                 // by stage
  std::vector<std::vector<std::size_t>> first_op_;  // by stage: of each call
};

}  // namespace plait
