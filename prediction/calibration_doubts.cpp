#include "prediction/calibration_doubts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "costmodel/host_machine.h"
#include "costmodel/kernel_features.h"
#include "plan/places.h"
#include "reports/human.h"

namespace plait {

std::string told_as(const Calibration& c) {
  const std::string name = c.name.empty() ? "without a name" : c.name;
  return c.date.empty() ? name : name + ", " + c.date;
}

Warnings doubts_of_kernels(const Plan& plan, const Cluster& cluster, const CostModel& costs) {
  if (costs.calibration == nullptr) return {};
  std::set<std::string> missing;
  for (const Block& block : plan.blocks) {
    for (const Op& op : block.ops) {
      const auto* kernel = std::get_if<Compute>(&op.body);
      if (kernel == nullptr || runs_on_processor(plan, op)) continue;
      const std::string name = kernel_class(*kernel);
      if (costs.calibration->kernels.contains(name) || missing.contains(name)) continue;
      if (costs.compute(*kernel, cluster.device).total().value > 0) missing.insert(name);
    }
  }
  if (missing.empty()) return {};
  return {
      {"W035", fmt::format("the calibration {} has no {}: the data sheet of {} says what {}",
                           told_as(*costs.calibration), fmt::join(missing, ", "),
                           cluster.device.name, missing.size() == 1 ? "it takes" : "they take")}};
}

Warnings doubts_of_messages(const Plan& plan, const CostModel& costs) {
  if (costs.calibration == nullptr || costs.calibration->transports.empty()) return {};
  if (rank_count(plan) == 1) return {};
  return {
      {"W036", fmt::format("messages and cores of the calibration {} are not used here, but links "
                           "of the cluster: `plait realrun --calibration` uses them",
                           told_as(*costs.calibration))}};
}

Warnings doubts_of_rate(const Report& r, const CostModel& costs) {
  const double computed = r.mfu_of_half_squares > 0 ? r.mfu_of_half_squares : r.mfu;
  if (costs.calibration == nullptr || computed <= 1) return {};
  return {
      {"W032",
       fmt::format(
           "an MFU of {}: by the calibration {} kernels are faster than the {} peak of {}: is it "
           "of another device, or in another unit?",
           human_percent(computed), told_as(*costs.calibration), r.peak_flops_dtype, r.cluster)}};
}

}  // namespace plait
