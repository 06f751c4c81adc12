// What an op of a program must wait for when ops are issued in order.
#include "realrun/issue_order.h"

#include "plan/dependencies.h"

namespace plait {

OpsBefore ops_before(const Plan& plan, std::size_t stage) {
  const Dependencies deps = dependencies(plan);
  const Program& program = plan.programs[stage];
  const ProgramDependencies& across = deps.programs[stage];
  OpsBefore out;
  for (std::size_t c = 0; c < program.calls.size(); ++c) {
    const Block& block = plan.blocks[program.calls[c].block];
    const BlockDependencies& within = deps.blocks[program.calls[c].block];
    if (block.ops.empty()) continue;  // nothing of it waits
    const auto first = static_cast<std::uint32_t>(out.size());
    out.resize(out.size() + block.ops.size());
    for (std::uint32_t i = 0; i < block.ops.size(); ++i) {
      for (std::uint16_t d = within.first[i]; d < within.first[i + 1]; ++d) {
        out[first + i].push_back(first + within.before[d]);
      }
    }
    for (std::uint32_t w = across.wait_first[c]; w < across.wait_first[c + 1]; ++w) {
      out[first + across.waits[w].op].push_back(across.waits[w].source);
    }
  }
  return out;
}

std::vector<Stream> streams_of(const Plan& plan, std::size_t stage) {
  std::vector<Stream> out;
  for (const Call& call : plan.programs[stage].calls) {
    for (const Op& op : plan.blocks[call.block].ops) out.push_back(op.stream);
  }
  return out;
}

std::vector<bool> runs_of(const Plan& plan, std::size_t stage, Role role) {
  std::vector<bool> out;
  for (const Call& call : plan.programs[stage].calls) {
    for (const Op& op : plan.blocks[call.block].ops) out.push_back(runs_on(plan, op, role));
  }
  return out;
}

OpsBefore communication_before(const Plan& plan, std::size_t stage) {
  const std::vector<Stream> streams = streams_of(plan, stage);
  OpsBefore out = ops_before(plan, stage);
  for (std::vector<std::uint32_t>& before : out) {
    std::erase_if(before, [&](std::uint32_t op) { return streams[op] == Stream::kCompute; });
  }
  return out;
}

}  // namespace plait
