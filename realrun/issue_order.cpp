// What an op of a program must wait for when ops are issued in order and compute runs at once: only
// what was handed to the communication thread.
#include "plan/dependencies.h"
#include "realrun/walk.h"

namespace plait {

std::vector<std::vector<std::uint32_t>> communication_before(const Plan& plan, std::size_t stage) {
  const Dependencies deps = dependencies(plan);
  const Program& program = plan.programs[stage];
  const ProgramDependencies& across = deps.programs[stage];
  std::vector<Stream> streams;
  std::vector<std::vector<std::uint32_t>> out;
  for (std::size_t c = 0; c < program.calls.size(); ++c) {
    const Block& block = plan.blocks[program.calls[c].block];
    const BlockDependencies& within = deps.blocks[program.calls[c].block];
    if (block.ops.empty()) continue;  // nothing of it waits
    const auto first = static_cast<std::uint32_t>(out.size());
    for (const Op& op : block.ops) streams.push_back(op.stream);
    out.resize(streams.size());
    const auto add = [&](std::uint32_t op, std::uint32_t before) {
      if (streams[before] != Stream::kCompute) out[op].push_back(before);
    };
    for (std::uint32_t i = 0; i < block.ops.size(); ++i) {
      for (std::uint16_t d = within.first[i]; d < within.first[i + 1]; ++d) {
        add(first + i, first + within.before[d]);
      }
    }
    for (std::uint32_t w = across.wait_first[c]; w < across.wait_first[c + 1]; ++w) {
      add(first + across.waits[w].op, across.waits[w].source);
    }
  }
  return out;
}

}  // namespace plait
