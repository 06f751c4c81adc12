// Sends that a stage's compute waits for. Frameworks that hand a message to the GPU and wait for it
// there, on the stream of their kernels, begin no kernel before the message has left: its time is
// part of the pass, and not only of what the next stage waits for. Messages that arrive are waited
// for by what reads them, with or without this.
#include <algorithm>
#include <deque>

#include "plan/schedule.h"
#include "plan/strategies/draft.h"

namespace plait {
namespace {

bool blocks(const PipelineOptions& p) {
  switch (p.blocking_sends) {
    case BlockingSends::kNone: return false;
    case BlockingSends::kPlain: return p.chunks == 1 && !splits_backward(p.schedule);
    case BlockingSends::kAll: return true;
  }
  return false;
}

bool sends(const Block& block) {
  return std::ranges::any_of(block.ops,
                             [](const Op& op) { return std::holds_alternative<Send>(op.body); });
}
bool begins_with_compute(const Block& block) {
  return !block.ops.empty() && block.ops.front().stream == Stream::kCompute;
}

}  // namespace

void apply_blocking_sends(Draft& d) {
  if (d.mesh()[Axis::kPp] == 1 || !blocks(d.strategy.pipeline)) return;
  for (Program& program : d.programs) {
    std::deque<std::int32_t> sent;
    for (std::size_t c = 0; c < program.calls.size(); ++c) {
      Call& call = program.calls[c];
      if (sends(d.blocks[call.block])) {
        sent.push_back(static_cast<std::int32_t>(c));
        continue;
      }
      const bool waits = call.after < 0 && begins_with_compute(d.blocks[call.block]);
      if (!waits || sent.empty()) continue;
      call.after = sent.front();
      sent.pop_front();
    }
  }
}

}  // namespace plait
