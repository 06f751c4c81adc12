#include "topologies/families/families.h"

namespace plait {

std::unique_ptr<const Cabling> make_cabling(const Fabric& fabric, std::int64_t nodes,
                                            std::int64_t nics) {
  switch (fabric.topology) {
    case Topology::kRailOptimised:
    case Topology::kFatTree: return fat_tree(fabric, nodes, nics);
    case Topology::kDragonfly: return dragonfly(fabric, nodes, nics);
    case Topology::kTorus: return torus(fabric, nodes, nics);
  }
  return nullptr;
}

}  // namespace plait
