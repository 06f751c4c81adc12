// Ring: each member sends to the next one and receives from the one before (Patarasuk and Yuan
// 2009, section 3).
//
//   all_gather,     round t = 0 .. n-2: member i sends share i - t and receives share i - t - 1
//   reduce_scatter  an all_gather that goes round the other way, reversed: in round t member i
//                   sends share i - t - 1 and adds the arriving share i - t - 2 to its own; the
//                   last to arrive is share i, with all n terms
//   all_reduce      the one after the other
//   broadcast       chunks through the chain that starts at member 0
//
// Each share is summed along one chain and then copied, so all members hold the same bits.
#include "plan/collectives/patterns.h"
#include "plan/collectives/pipeline.h"

namespace plait {
namespace {

Rounds gather(const Team& team, std::int64_t step) {
  const std::int64_t i = team.place;
  Rounds rounds;
  for (std::int64_t t = 0; t + 1 < team.size(); ++t) {
    Round& round = rounds.emplace_back();
    send(round, team.at(i + step), team.share(i - t * step));
    receive(round, team.at(i - step), team.share(i - (t + 1) * step));
  }
  return rounds;
}

Rounds chain(const Team& team, std::int64_t chunks) {
  std::int64_t hops = 0;  // from member 0
  while (team.at(team.place - hops) != 0) ++hops;
  Branch branch{.depth = hops};
  if (hops > 0) branch.parent = team.at(team.place - 1);
  if (hops + 1 < team.size()) branch.children = {team.at(team.place + 1)};
  return broadcast_down(branch, team.size() - 1, team.whole, chunks);
}

}  // namespace

// As NCCL's rings do on nodes with a NIC per GPU (src/graph/connect.cc, alternate rings): channel k
// enters node 0 at its local member k, goes up to k - 1 and leaves there; node 1 is passed the
// other way, from k - 1 down to k, and so on. So with an even number of nodes each hop between
// nodes joins equal places, and g channels use all places alike.
std::vector<std::int64_t> ring_order(std::int64_t members, std::int64_t members_per_node,
                                     std::int64_t channel) {
  const std::int64_t g = members_per_node;
  std::vector<std::int64_t> order;
  for (std::int64_t node = 0; node < members / g; ++node) {
    for (std::int64_t q = 0; q < g; ++q) {
      order.push_back(node * g + (channel + (node % 2 == 0 ? q : g - 1 - q)) % g);
    }
  }
  return order;
}

Rounds ring(CollectiveKind kind, const Team& team, std::int64_t chunks) {
  switch (kind) {
    case CollectiveKind::kAllGather: return gather(team, 1);
    case CollectiveKind::kReduceScatter: return reversed(gather(team, -1));
    case CollectiveKind::kAllReduce: return then(reversed(gather(team, -1)), gather(team, 1));
    case CollectiveKind::kBroadcast: return chain(team, chunks);
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kPush:
    case CollectiveKind::kPull:
    case CollectiveKind::kShift: break;
  }
  return {};
}

}  // namespace plait
