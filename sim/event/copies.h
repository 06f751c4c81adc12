#pragma once
// What a collective copies besides sending: its rounds need one buffer, which the operands' storage
// is only where there is one piece of it that is worked on in place.

#include "plan/plan.h"

namespace plait {

struct Copies {
  Bytes before, after;  // the rounds
};

/// Of a collective over `members` ranks (docs/models/hosts.md, section 1):
///   one tensor in place                  nothing
///   several tensors, all_reduce          everything there and back
///   reduce_scatter in place              everything there, the own share back
///   reduce_scatter from one to another   the same
///   all_gather from one to another       the own share there
///   push                                 everything there, a server's share back
///   pull                                 a server's share there, everything back
inline Copies copies_of(const Op& op, const Collective& c, std::int64_t members) {
  const Bytes all = c.bytes(), share(all.value / members);
  const bool in_place = op.operands.at(0).use == Use::kUpdate;
  if (c.servers.any()) {
    const Bytes kept(all.value / c.servers.count);
    return c.kind == CollectiveKind::kPush ? Copies{all, kept} : Copies{kept, all};
  }
  if (c.kind == CollectiveKind::kReduceScatter) return {all, share};
  if (c.kind == CollectiveKind::kAllGather) return {in_place ? Bytes(0) : share, Bytes(0)};
  return op.operands.size() > 1 ? Copies{all, all} : Copies{};
}

}  // namespace plait
