#pragma once
// Hosts as launchers count them, and the nodes of a scenario. They are the same but where NVLink
// joins several hosts to one node, as in a rack of GB200 NVL72, whose trays are hosts of 4 GPUs
// (node.devices_per_host).

#include <cstdint>
#include <string>

#include "scenarios/dialects/dialects.h"
#include "scenarios/dialects/scenario_tree.h"

namespace plait {

struct Hosts {
  std::int64_t count = 1, devices = 1;  // of each
};
/// `devices_per_host`: 0 where a node is one host.
Hosts hosts_of(std::int64_t nodes, std::int64_t devices_per_node, std::int64_t devices_per_host);

/// What a file says of hosts, or of processes, as nodes of the machine that `base` names. Throws
/// InputError D004 for processes that its hosts do not share evenly.
Imported in_nodes(Imported imported, ScenarioTree& base, const std::string& file);

/// Where NVLink joins hosts of that machine, and those of the file have other numbers of GPUs: what
/// they are read as; "": it is not so.
std::string note_of_other_hosts(const Imported& imported, ScenarioTree& base);

}  // namespace plait
