#include "sim/flow/flow_program.h"

#include <algorithm>

namespace plait {
namespace {

/// Of all ops so far.
struct Position {
  std::uint8_t stream;
  std::uint32_t ordinal;  // on it
};

/// What an op waits for, at most one need per stream.
class Needs {
 public:
  void add(std::uint8_t stream, std::uint32_t ended) {
    ended_[stream] = std::max(ended_[stream], ended);
  }
  void append_to(std::vector<StreamNeed>& out, Stream own) const {
    for (std::uint8_t s = 0; s < kStreams; ++s) {
      if (ended_[s] > 0 && s != static_cast<std::uint8_t>(own)) out.push_back({s, ended_[s]});
    }
  }

 private:
  std::array<std::uint32_t, kStreams> ended_ = {};
};

}  // namespace

FlowProgram::FlowProgram(const Plan& plan, const Dependencies& deps, const Durations& durations,
                         std::size_t stage) {
  constexpr auto kCompute = static_cast<std::uint8_t>(Stream::kCompute);
  const ProgramDependencies& across = deps.programs[stage];
  const std::vector<Call>& calls = plan.programs[stage].calls;
  std::vector<Position> at;  // per flat op
  SimTime issued = 0;
  for (std::uint32_t c = 0; c < calls.size(); ++c) {
    const std::vector<Op>& ops = plan.blocks[calls[c].block].ops;
    const BlockDependencies& within = deps.blocks[calls[c].block];
    const auto base = static_cast<std::uint32_t>(at.size());
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      const auto stream = static_cast<std::uint8_t>(ops[i].stream);
      Needs needs;
      const auto wait_for = [&](std::uint32_t flat) {
        needs.add(at[flat].stream, at[flat].ordinal + 1);
      };
      if (behind_compute(ops[i].stream)) needs.add(kCompute, queued(kCompute));
      for (std::uint32_t k = within.first[i]; k < within.first[i + 1]; ++k) {
        wait_for(base + within.before[k]);
      }
      for (std::uint32_t w = across.wait_first[c]; w < across.wait_first[c + 1]; ++w) {
        if (across.waits[w].op == i) wait_for(across.waits[w].source);
      }
      needs.append_to(needs_, ops[i].stream);
      first_.push_back(static_cast<std::uint32_t>(needs_.size()));
      at.push_back({stream, queued(stream)});
      const auto id = static_cast<std::uint32_t>(durations.op_id(calls[c].block, i));
      issued += durations.issue(id);
      on_stream_[stream].push_back({&ops[i], id, base + i,
                                    is_message(ops[i]) ? across.message[c] : kNoMessage,
                                    static_cast<std::uint32_t>(run_ends_.size()), issued});
      const HostWait wait = durations.host_wait_after(id);
      if (wait == HostWait::kNot) continue;
      run_ends_.push_back({base + i + 1, wait == HostWait::kOp ? StreamNeed{stream, queued(stream)}
                                                               : StreamNeed{}});
      issued = 0;
    }
  }
  run_ends_.push_back({static_cast<std::uint32_t>(ops()), {}});
}

}  // namespace plait
