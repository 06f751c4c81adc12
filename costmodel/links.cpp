#include "costmodel/links.h"

namespace plait {

// NCCL 2.30 src/graph/topo.h: 20, 20.6 and 40.1 GB/s per NVLink of 25, 25 and 50; 48 of a 400
// Gbit/s NIC of 50. RCCL's: 48 of an xGMI link of 64 (gfx94; ROCm/rccl issue 1210).
double usable_share(LinkClass link, Generation generation) {
  switch (link) {
    case LinkClass::kNvlink:
      if (generation == Generation::kCdna) return 0.75;
      return generation == Generation::kHopper ? 0.824 : 0.802;
    case LinkClass::kPcie: return kPcieShare;
    case LinkClass::kInfiniband:
    case LinkClass::kEthernet: return 0.96;
    case LinkClass::kC2c: return 0.8;
    case LinkClass::kDeviceMemory: return 0.9;  // as copies on Hopper (efficiency.cpp)
  }
  return 0;
}

// Usual latencies, as routes of the catalogue add up: two NVLinks through an NVSwitch; a PCIe
// switch or root complex; NIC to NIC through a leaf switch of InfiniBand, with PCIe at both ends.
// Of Ethernet too: the fits were measured over InfiniBand, and a fabric's name makes nothing
// faster.
double latency_ratio(const Path& path) {
  switch (path.outermost()) {
    case LinkClass::kNvlink: return path.latency / Seconds(0.936e-6);
    case LinkClass::kPcie: return path.latency / Seconds(0.8e-6);
    case LinkClass::kInfiniband:
    case LinkClass::kEthernet: return path.latency / Seconds(2.5e-6);
    case LinkClass::kC2c: return path.latency / Seconds(0.8e-6);
    case LinkClass::kDeviceMemory: return 1;
  }
  return 1;
}

double launch_ratio(const Device& device) { return fixed_time(device, Seconds(1)) / Seconds(1); }

}  // namespace plait
