// In-switch reduction (NVLink SHARP; NCCL's NVLS). Of its own share a member asks the switch for
// the sum (multimem.ld_reduce): the switch reads it from everyone. Or it writes it to everyone
// through the switch (multimem.st).
//
//   all_gather      everyone sends its share, everyone receives all shares
//   reduce_scatter  an all_gather reversed: everyone's whole addend goes up, the own share of the
//                   sum comes down
//   all_reduce      the one after the other: S + S / n up and S / n + S down
//
// Each share is summed once, by the switch, so all members hold the same bits.
#include "plan/collectives/patterns.h"

namespace plait {

Rounds nvls(CollectiveKind kind, const Team& team) {
  Round round;
  send(round, kSwitch, team.share(team.place));
  Pieces all;
  for (std::int64_t p = 0; p < team.size(); ++p) append(all, team.share(p));
  receive(round, kSwitch, all);
  return from_gather(kind, {round});
}

}  // namespace plait
