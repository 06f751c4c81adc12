// What commands need a scenario to be.
#include <fmt/format.h>

#include "scenarios/resolve.h"
#include "scenarios/scenario.h"

namespace plait {

void require_training(const Scenario& scenario) {
  if (!scenario.serving) return;
  throw locate(InputError({"S065",
                           "a scenario of serving where a training step is needed",
                           {"", 0, 0, "serving"},
                           "a scenario with a workload",
                           "run it by `plait serve`, which varies fields by -L too"}),
               scenario);
}

void require_serving(const Scenario& scenario) {
  if (scenario.serving) return;
  throw locate(InputError({"S066",
                           "a scenario of training where one of serving is needed",
                           {"", 0, 0, "workload"},
                           "a scenario with a section serving",
                           "run it by `plait run`"}),
               scenario);
}

void require_plannable(const Scenario& s) {
  constexpr double kMostPasses = 1e8;
  if (s.serving) return;
  const auto replica = static_cast<double>(s.workload.global_batch) /
                       static_cast<double>(s.strategy.replicas() * s.workload.micro_batch);
  if (2 * replica * static_cast<double>(s.model.layers) <= kMostPasses) return;
  throw locate(
      InputError(
          {"S166",
           fmt::format("{:.1e} microbatches through {} layers are too many to plan", replica,
                       s.model.layers),
           {"", 0, 0, "workload.global_batch"},
           fmt::format("at most {:.0e} passes through layers, two of each microbatch and layer",
                       kMostPasses),
           "set workload.micro_batch to more, or workload.global_batch to fewer sequences",
           {"workload.micro_batch", "model.layers"}}),
      s);
}

}  // namespace plait
