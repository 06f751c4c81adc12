#pragma once
// A stage's program as the flow engine walks it: each stream's ops in order, and what each op waits
// for besides its own stream. Streams are queues, so "op j has ended" is "its stream has ended so
// many ops", and one counter per stream says it all.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/dependencies.h"
#include "sim/durations.h"

namespace plait {

/// So many ops of a stream must have ended.
struct StreamNeed {
  std::uint8_t stream = 0;
  std::uint32_t ended = 0;
};

struct FlowOp {
  const Op* op = nullptr;
  std::uint32_t id = 0;  // through the plan's blocks, as Durations numbers them
  std::uint32_t flat = 0;
  std::uint32_t message = kNoMessage;  // of a send or receive
  /// The host issues it in its `run`-th run without waiting for the device, so long after the run's
  /// beginning.
  std::uint32_t run = 0;
  SimTime issued = 0;
};

/// What ends a run of the host: so many ops of a stream, or, where `need` names none, so many of
/// all streams have ended.
struct HostRunEnd {
  std::uint32_t ops = 0;
  StreamNeed need;
};

class FlowProgram {
 public:
  FlowProgram(const Plan& plan, const Dependencies& deps, const Durations& durations,
              std::size_t stage);
  const std::vector<FlowOp>& on_stream(std::size_t stream) const { return on_stream_[stream]; }
  std::span<const StreamNeed> needs(const FlowOp& op) const {
    return std::span(needs_).subspan(first_[op.flat], first_[op.flat + 1] - first_[op.flat]);
  }
  std::size_t ops() const { return first_.size() - 1; }
  const HostRunEnd& run_end(std::uint32_t run) const { return run_ends_[run]; }

 private:
  /// So far.
  std::uint32_t queued(std::size_t stream) const {
    return static_cast<std::uint32_t>(on_stream_[stream].size());
  }

  std::array<std::vector<FlowOp>, kStreams> on_stream_;
  std::vector<std::uint32_t> first_ = {0};  // of flat op i in needs_; one more at the end
  std::vector<StreamNeed> needs_;
  std::vector<HostRunEnd> run_ends_;  // of each run
};

}  // namespace plait
