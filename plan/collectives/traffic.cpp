#include "plan/collectives/traffic.h"

#include <map>

namespace plait {
namespace {

using Pairs = std::map<std::int64_t, std::int64_t>;  // of one sender: bytes by receiver

/// Of all n - 1 (or twice as many) messages of a ring to the next member, each share but one is
/// one: reduce_scatter leaves out the sender's own, all_gather the receiver's own.
std::int64_t ring_bytes(CollectiveKind kind, std::int64_t members, std::int64_t from,
                        std::int64_t bytes) {
  const auto but = [&](std::int64_t p) {
    return bytes - share_of(bytes, members, p % members).elements;
  };
  return (kind == CollectiveKind::kAllGather ? 0 : but(from)) +
         (kind == CollectiveKind::kReduceScatter ? 0 : but(from + 1));
}

Pairs sent_by(std::int64_t from, const Arrangement& arrangement, CollectiveKind kind,
              std::int64_t members, std::int64_t bytes) {
  if (arrangement.pattern == Pattern::kRing) {
    return {{(from + 1) % members, ring_bytes(kind, members, from, bytes)}};
  }
  Pairs sent;
  for (const Round& round : rounds_of(arrangement, kind, members, from, bytes)) {
    for (const Transfer& t : round) {
      if (t.direction == Direction::kSend) sent[t.peer] += t.range.elements;
    }
  }
  return sent;
}

}  // namespace

std::vector<Traffic> traffic_of(const Arrangement& arrangement, CollectiveKind kind,
                                std::int64_t members, Bytes bytes) {
  std::vector<Traffic> out;
  for (std::int64_t from = 0; members > 1 && from < members; ++from) {
    for (const auto& [to, sent] : sent_by(from, arrangement, kind, members, bytes.value)) {
      if (sent > 0) out.push_back({from, to, Bytes(sent)});
    }
  }
  return out;
}

}  // namespace plait
