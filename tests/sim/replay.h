#pragma once
// Collectives message by message: every transfer of every round is a flow of its own. What the flow
// engine sums up to one flow per collective is followed here in full, so this tells how far that is
// right, and how a collective behaves whose members are not in step.
//
// A transfer begins when both its ends have begun the round that it belongs to; it takes the
// latency of its way, then flows. A member's round ends when its last transfer has.

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/time.h"
#include "plan/collectives/rounds.h"
#include "topologies/network.h"

namespace plait {

struct ReplayedCollective {
  std::vector<std::int64_t> devices;  // of the members, in group order
  Arrangement arrangement;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;  // nccl-tests' S
  /// Only the first so many rounds of each member.
  std::int64_t most_rounds = std::numeric_limits<std::int64_t>::max();
};

struct ReplayOptions {
  /// Before each round a member rests, evenly distributed from none to this: not in step.
  SimTime longest_rest = 0;
  std::uint64_t seed = 1;
  /// Before the round of a member; both counted from 0, the members through all collectives.
  SimTime rest(std::int64_t member, std::int64_t round) const;
};

struct Replay {
  std::vector<SimTime> end;  // per collective; all begin at 0
  std::int64_t transfers = 0;
};

/// A replay whose rounds and ways are worked out, ready to run once.
class Replayer {
 public:
  Replayer(const Network& network, std::span<const ReplayedCollective> collectives,
           const ReplayOptions& options = {});
  ~Replayer();
  Replay run();

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

Replay replay(const Network& network, std::span<const ReplayedCollective> collectives,
              const ReplayOptions& options = {});

}  // namespace plait
