#include "costmodel/held_multiprocessors.h"

#include <cmath>

#include "costmodel/nccl_tuning.h"

namespace plait {

namespace {
constexpr int kDeepEpMultiprocessors = 20;  // Megatron-LM, transformer_config.py
}

std::string held_key(const std::string& collective, bool over_nodes) {
  return over_nodes ? collective + " over nodes" : collective;
}

int held_multiprocessors(const Collective& collective, Algorithm algorithm,
                         const GroupPlacement& group, const NodeKind& node,
                         const Calibration* calibration) {
  const CollectiveKind kind = collective.kind;
  if (node.device.compute_capability == 0 || group.ranks <= 1) return 0;
  if (kind == CollectiveKind::kShift && collective.axes.has(Axis::kTp)) return 0;
  if (algorithm == Algorithm::kDeepEp) return kDeepEpMultiprocessors;
  if (calibration != nullptr) {
    const auto& measured = calibration->held_multiprocessors;
    const auto found = measured.find(held_key(std::string(name_of(kind)), group.nodes > 1));
    if (found != measured.end()) return static_cast<int>(std::lround(found->second));
  }
  return communicator_channels(nccl_group(kind, group, node));
}

}  // namespace plait
