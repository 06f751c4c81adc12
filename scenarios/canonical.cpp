#include "scenarios/resolve.h"

namespace plait {
namespace {

std::string cluster_json(const ClusterPart& part) {
  std::vector<JsonMember> members = cluster_table().members(part);
  // Presets are written out, so that a changed catalogue is a changed scenario.
  for (JsonMember& m : members) {
    if (m.key == "node") m.value = node_table().write(part.node.value);
    if (m.key == "device") m.value = device_table().write(part.device.value);
    if (m.key == "fabric") m.value = fabric_table().write(part.fabric.value);
    if (m.key == "processor") m.value = device_table().write(part.processor.value);
  }
  const bool alike = part.other_nodes.empty();
  const bool no_processor = part.processor.value.name.empty();
  const bool no_storage = part.storage_bandwidth.value == 0;
  const bool as_read = part.storage_write_bandwidth.value == 0;
  std::erase_if(members, [=](const JsonMember& m) {
    return m.key == "preset" || (m.key == "other_nodes" && alike) ||
           (m.key == "processor" && no_processor) || (m.key == "storage_bandwidth" && no_storage) ||
           (m.key == "storage_write_bandwidth" && as_read);
  });
  return json_object(std::move(members));
}

std::string strategy_json(const StrategyPart& part) {
  std::vector<JsonMember> members = strategy_table().members(part);
  std::erase_if(members, [&](const JsonMember& m) {
    return (m.key == "offload" && !part.offload.any()) ||
           (m.key == "parameter_server" && !part.parameter_server.any());
  });
  return json_object(std::move(members));
}

std::string workload_json(const Workload& workload) {
  std::vector<JsonMember> members = workload_table().members(workload);
  std::erase_if(members, [&](const JsonMember& m) {
    return (m.key == "documents" && workload.documents.packing == Packing::kNone) ||
           (m.key == "lora" && !workload.lora.any());
  });
  return json_object(std::move(members));
}

std::string serving_json(const Serving& serving) {
  std::vector<JsonMember> members = serving_table().members(serving);
  const bool as_activations = serving.precision.states == serving.precision.activations;
  std::erase_if(members,
                [&](const JsonMember& m) { return m.key == "state_cache" && as_activations; });
  return json_object(std::move(members));
}

}  // namespace

std::string canonical_json(const Scenario& scenario, const StrategyPart& strategy,
                           const ClusterPart& cluster, const PlacementPart& placement,
                           const std::string& calibration_sha256) {
  std::vector<JsonMember> members = {{"name", json_quote(scenario.name)},
                                     {"model", model_table().write(scenario.model)},
                                     {"strategy", strategy_json(strategy)},
                                     {"cluster", cluster_json(cluster)}};
  members.push_back(scenario.serving ? JsonMember{"serving", serving_json(*scenario.serving)}
                                     : JsonMember{"workload", workload_json(scenario.workload)});
  if (scenario.training) {
    members.push_back({"training", training_table().write(*scenario.training)});
  }
  if (!scenario.placement.empty()) {
    members.push_back({"placement", placement_table().write(placement)});
  }
  if (scenario.host.takes_time()) members.push_back({"host", host_table().write(scenario.host)});
  if (!calibration_sha256.empty()) {
    members.push_back({"calibration", json_quote(calibration_sha256)});
  }
  if (const std::string kernels = kernels_table().write(scenario.kernels);
      kernels != kernels_table().write({})) {
    members.push_back({"kernels", kernels});
  }
  if (scenario.memory != FrameworkMemory{}) {
    members.push_back({"memory", memory_table().write(scenario.memory)});
  }
  if (scenario.flow_network) members.push_back({"network", json_quote("flow")});
  if (!scenario.interference) members.push_back({"interference", "false"});
  return json_object(std::move(members));
}

}  // namespace plait
