#include "prediction/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "costmodel/kernel_features.h"
#include "topologies/variation.h"

namespace plait {
namespace {

bool is_of_processors(const Calibration& c) {
  return !c.transports.empty() || std::ranges::any_of(c.kernels, [](const auto& fit) {
    return is_processors_product(fit.first);
  });
}

/// A calibration is of one device.
void require_its_device(const Calibration& calibration, const Scenario& scenario) {
  const auto refuse = [&](InputError::Text text) {
    throw locate(InputError(std::move(text)), scenario);
  };
  if (!scenario.cluster.others.empty()) {
    refuse({.code = "C012",
            .problem = "a calibration for a cluster of several kinds of nodes",
            .where = {"", 0, 0, "calibration"},
            .expected = "nodes of the kind that was measured, and no others",
            .cure = "remove the calibration, or cluster.other_nodes",
            .others = {"cluster.other_nodes"}});
  }
  const std::string& device = scenario.cluster.device.name;
  // A processor's says none, nor does one of a GPU that the catalogue has not.
  const bool says_none = calibration.device.empty();
  const bool on_gpu = scenario.cluster.device.compute_capability > 0;
  const bool other =
      says_none ? on_gpu && is_of_processors(calibration) : calibration.device != device;
  if (other) {
    refuse({.code = "K006",
            .problem = fmt::format("a calibration of {} for a cluster of {}",
                                   says_none ? calibration.machine : calibration.device, device),
            .where = {"", 0, 0, "calibration"},
            .expected = fmt::format("one of plait calibrate --device {}", device),
            .cure = "remove the calibration, or choose a cluster of the device that was measured",
            .others = {"cluster.device", "cluster.preset"}});
  }
}

/// Of the devices that wait for one another: all that train together, or those of one replica of an
/// engine.
double slowest_of(const Scenario& s) {
  const std::int64_t replicas = s.serving ? s.strategy.mesh[Axis::kDp] : 1;
  return slowest_device(s.cluster.variation, s.cluster.world_size() / replicas);
}

}  // namespace

std::shared_ptr<const Calibration> calibration_of(const Scenario& scenario) {
  if (scenario.calibration.empty()) return nullptr;
  return std::make_shared<const Calibration>(load_calibration(scenario.calibration));
}

CostModel costs_of(const Scenario& scenario) {
  return costs_of(scenario, calibration_of(scenario));
}

CostModel costs_of(const Scenario& scenario, std::shared_ptr<const Calibration> calibration) {
  CostModel costs;
  costs.host = scenario.host;
  costs.kernels = scenario.kernels;
  costs.machine = {scenario.processor, scenario.storage_bandwidth, scenario.storage_write_bandwidth,
                   scenario.strategy.offload.bind_cores};
  costs.slowest = slowest_of(scenario);
  if (calibration != nullptr) require_its_device(*calibration, scenario);
  costs.calibration = std::move(calibration);
  return costs;
}

}  // namespace plait
