#pragma once
// Where a rank stands in its program.

#include <array>
#include <cstdint>
#include <vector>

#include "plan/collectives/rounds.h"
#include "plan/timeline.h"
#include "sim/event/host_program.h"

namespace plait {

/// A collective of one rank: its group and what it exchanges with it.
struct Exchange {
  bool known = false;  // worked out already
  std::vector<std::int64_t> group;
  std::vector<Round> rounds;
};

struct StreamState {
  std::size_t next = 0;  // in HostProgram::on_stream; it runs, or waits to start
  bool running = false;
  const Exchange* exchange = nullptr;  // of a collective that runs
  std::size_t round = 0;
  std::size_t transfers = 0;  // of the round or message, that go on
};

struct RankState {
  const HostProgram* program = nullptr;
  std::uint32_t issued = 0;  // flat ops handed over or computed
  bool computing = false;    // op `issued` runs
  bool waiting = false;      // op `issued` cannot run yet: the compute thread sleeps
  bool resuming = false;     // it wakes up
  std::vector<char> done;    // per flat op
  std::size_t ended = 0;
  std::array<StreamState, kStreams> streams;

  bool finished() const { return ended == program->ops.size(); }
  /// The first op that `flat` waits for, or `flat` itself if there is none.
  std::uint32_t waits_for(std::uint32_t flat) const {
    for (std::uint32_t k = program->first[flat]; k < program->first[flat + 1]; ++k) {
      if (done[program->before[k]] == 0) return program->before[k];
    }
    return flat;
  }
  bool ready(std::uint32_t flat) const { return waits_for(flat) == flat; }
};

/// The message of an InternalError: where each rank that has not finished stands, and for what.
std::string blocked_ranks(const Plan& plan, const std::vector<RankState>& ranks);

}  // namespace plait
