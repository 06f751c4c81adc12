#include "scenarios/dialects/lent_devices.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace plait {

void take_devices(ScenarioTree& tree, const Cluster& machine, std::int64_t ranks,
                  Warnings* warnings) {
  if (tree.size("fsdp") == 1) tree.root["strategy"].erase("fsdp");
  if (ranks >= machine.world_size()) return;
  std::int64_t nodes = (ranks + machine.devices_per_node - 1) / machine.devices_per_node;
  while (ranks % nodes != 0) ++nodes;
  if (nodes > machine.nodes) return;  // parse_scenario says what is wrong
  tree.set("cluster.nodes", nodes);
  tree.set("cluster.devices_per_node", ranks / nodes);
  if (warnings == nullptr) return;
  warnings->push_back(
      {"W008",
       fmt::format("of the machine's {} devices it takes {}: nodes = {}, devices_per_node = {}",
                   machine.world_size(), ranks, nodes, ranks / nodes)});
}

void keep_whole(ScenarioTree& tree, Warnings* warnings) {
  const auto *stage = tree.find("strategy.zero_stage"),
             *host = tree.find("strategy.offload.parameters");
  if (stage == nullptr || *stage == 0 || (host != nullptr && *host != "none")) return;
  if (warnings != nullptr) {
    warnings->push_back(
        {"W008", fmt::format("zero_stage {} is read as 0: one rank has nobody to shard with",
                             stage->dump())});
  }
  tree.set("strategy.zero_stage", 0);
  for (const char* of_shards : {"fsdp_options", "keep_weight_shard", "zero_plus_plus"}) {
    tree.root["strategy"].erase(of_shards);
  }
  auto* data = tree.find("strategy.data");
  if (data != nullptr) data->erase("all_reduce");
}

}  // namespace plait
