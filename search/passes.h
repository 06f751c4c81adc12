#pragma once
// A lower bound that knows the schedule: each stage goes through its passes in their order, waits
// for its neighbours' messages, and ends with what it still has to exchange. Tens of microseconds
// where a simulation takes milliseconds.

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "plan/schedule.h"
#include "search/pipeline_costs.h"

namespace plait {

/// The tasks of every stage, made once for each pipeline. From any thread.
class Schedules {
 public:
  using Tasks = std::vector<std::vector<Task>>;
  /// `options`: the layout's; they differ with what it is known by alone.
  std::shared_ptr<const Tasks> of(const Layout& layout, std::int64_t microbatches,
                                  const PipelineOptions& options);

 private:
  std::mutex mutex_;
  std::map<std::tuple<Schedule, std::int64_t, std::int64_t, std::int64_t>,
           std::shared_ptr<const Tasks>>
      known_;
};

/// What the end of a step waits for.
struct StepRules {
  bool joined = true;    // all stages' gradients, before any update: global gradient clipping
  bool overlaps = true;  // gradients are reduced while passes go on
  bool gathers = true;   // so are updated weights gathered, which are on the device
};

/// How long the step takes at least. Pipelines of more than kMostTasks tasks are not walked: 0.
/// `microbatches`: of a replica, whichever end they enter at.
SimTime walk_passes(const PipelineCosts& stages, const Schedules::Tasks& tasks,
                    std::int64_t microbatches, StepRules rules);
inline constexpr std::int64_t kMostTasks = 50'000;

}  // namespace plait
