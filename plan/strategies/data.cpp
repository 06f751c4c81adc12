// Data parallelism: replicas (dp) and shards (fsdp) work on different sequences; see gather.cpp and
// reduce.cpp for the two halves.
#include <algorithm>

#include "plan/refusal.h"
#include "plan/schedule.h"
#include "plan/strategies/data_parallel.h"

namespace plait {
namespace {

/// The weights that the previous step updated, hidden by this forward.
void gather_first(const Draft& d, const GatherBlocks& gathers, Program& program,
                  const std::vector<UnitInstance>& units, bool all) {
  Program out;
  for (const UnitInstance& u : units) {
    const Unit& unit = d.unit(u.kind);
    if (unit.gathered() && (all || unit.passes)) out.calls.push_back(gather_call(gathers, u));
  }
  const auto shift = static_cast<std::int32_t>(out.calls.size());
  for (Call call : program.calls) {
    if (call.after >= 0) call.after += shift;
    out.calls.push_back(call);
  }
  program = std::move(out);
}

bool some_pass(const Draft& d) {
  return std::ranges::any_of(d.units, [](const Unit& u) { return u.passes; });
}

}  // namespace

void apply_data_parallel(Draft& d) {
  if (d.strategy.fsdp.prefetch < 0) {
    throw refusal("S024", "fsdp cannot prefetch a negative number of layers",
                  "strategy.fsdp_options.prefetch", "0 or more", "set it to 1");
  }
  const bool copies = both_ways(d.strategy);
  const bool alone = data_axes(d).empty() && !copies && !d.strategy.fetches_shards();
  const int stage = d.strategy.zero_stage;
  const bool served = d.strategy.parameter_server.any();
  const bool gathers = !alone && (stage > 0 || served);
  const bool all_here = gathers && (stage == 3 || d.strategy.data.gathers_ahead());
  if (all_here || some_pass(d)) {  // the others behind the optimizer
    const GatherBlocks blocks = add_gather_blocks(d);
    for (std::size_t i = 0; i < d.programs.size(); ++i) {
      Program& program = d.programs[i];
      if (stage == 3) {
        program = gather_before_use(d, blocks, program);
      } else {
        gather_first(d, blocks, program, d.program_units[i], all_here);
      }
    }
  }
  if (alone) return;
  if (served) {
    for (Program& program : d.programs) push_gradients(d, program);
    return;
  }
  GradientReduction reduction(d);
  for (Program& program : d.programs) {
    program = stage >= 2 ? reduction.into_shards(program)
              : copies   ? reduction.over_copies(program)
                         : reduction.in_buckets(program);
  }
}

}  // namespace plait
