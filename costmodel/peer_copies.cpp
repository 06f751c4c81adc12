#include "costmodel/collectives.h"
#include "costmodel/transfer.h"

namespace plait {
namespace {

/// All of it to each of the others, or from each its part.
Cost copies_in_turn(const Collective& op, const GroupPlacement& group) {
  if (group.ranks <= 1) return {};
  const std::int64_t parts = op.kind == CollectiveKind::kBroadcast ? 1 : group.ranks;
  const Path& path = group.nodes > 1 ? group.inter : group.intra;
  return static_cast<double>(group.ranks - 1) * message_cost(Bytes(op.bytes().value / parts), path);
}

}  // namespace

CollectiveCost peer_copies_cost(const Collective& op, const GroupPlacement& group) {
  return {copies_in_turn(op, group), Algorithm::kPeerCopies, Protocol::kSimple};
}

}  // namespace plait
