#pragma once
// What the words of a record say of the network between its nodes.

#include <cstdint>
#include <string>

namespace plait {

/// Rates are per direction.
struct FabricWords {
  std::int64_t nics = 0;  // of a node; 0: not said
  double gigabits = 0;    // of one NIC; 0: not said
  bool ethernet = false;
  bool efa = false;             // AWS's
  bool omni_path = false;       // through which NCCL moves less than a port can
  bool no_nvlink = false;       // denied within a node too
  double oversubscription = 1;  // of leaf switches; 0: one is said whose ratio is not
  bool unread = false;          // they have a number that is none of these
};

/// "8x HDR 200 Gb/s IB per node", "1600 Gbps node-node (RoCE)", "400 Gb/s RDMA per GPU", "one 100Gb
/// NIC", "Slingshot-11", ... Throws NotRepresentable for a number out of all proportion.
FabricWords read_fabric(const std::string& words, std::int64_t gpus_per_node);

}  // namespace plait
