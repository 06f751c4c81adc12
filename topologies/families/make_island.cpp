#include "topologies/families/families.h"

namespace plait {

Island make_island(const NodeSpec& node, const Device& device, const Fabric& fabric) {
  switch (node.family) {
    case Family::kNvSwitch: return nvswitch_island(node, device, fabric);
    case Family::kNvlinkMesh: return nvlink_mesh(node, device, fabric);
    case Family::kNvlinkDomain: return nvlink_domain(node, device, fabric);
    case Family::kPcie: return pcie_box(node, device, fabric);
    case Family::kHost: return shared_memory(node, device, fabric);
    case Family::kGpuParts: return gpu_parts(node, device);
  }
  return {};
}

}  // namespace plait
