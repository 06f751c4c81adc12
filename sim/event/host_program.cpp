#include "sim/event/host_program.h"

namespace plait {
namespace {

void append_call(HostProgram& out, const Plan& plan, const Dependencies& deps, std::size_t stage,
                 std::uint32_t call, std::uint32_t first_id) {
  const BlockId block = plan.programs[stage].calls[call].block;
  const std::vector<Op>& ops = plan.blocks[block].ops;
  const BlockDependencies& within = deps.blocks[block];
  const ProgramDependencies& across = deps.programs[stage];
  const auto base = static_cast<std::uint32_t>(out.ops.size());
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    for (std::uint32_t k = within.first[i]; k < within.first[i + 1]; ++k) {
      out.before.push_back(base + within.before[k]);
    }
    for (std::uint32_t w = across.wait_first[call]; w < across.wait_first[call + 1]; ++w) {
      if (across.waits[w].op == i) out.before.push_back(across.waits[w].source);
    }
    out.first.push_back(static_cast<std::uint32_t>(out.before.size()));
    out.on_stream[static_cast<std::size_t>(ops[i].stream)].push_back(base + i);
    out.ops.push_back({&ops[i], first_id + i, call});
  }
}

}  // namespace

std::vector<HostProgram> host_programs(const Plan& plan, const Dependencies& deps) {
  std::vector<std::uint32_t> first_id;
  std::uint32_t ids = 0;
  for (const Block& b : plan.blocks) {
    first_id.push_back(ids);
    ids += static_cast<std::uint32_t>(b.ops.size());
  }
  std::vector<HostProgram> out(plan.programs.size());
  for (std::size_t s = 0; s < out.size(); ++s) {
    out[s].first.push_back(0);
    for (std::uint32_t c = 0; c < plan.programs[s].calls.size(); ++c) {
      append_call(out[s], plan, deps, s, c, first_id[plan.programs[s].calls[c].block]);
    }
  }
  return out;
}

}  // namespace plait
