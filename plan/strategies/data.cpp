// Data parallelism: replicas (dp) and shards (fsdp) work on different sequences; see gather.cpp and
// reduce.cpp for the two halves.
#include "plan/refusal.h"
#include "plan/schedule.h"
#include "plan/strategies/data_parallel.h"

namespace plait {

void apply_data_parallel(Draft& d) {
  if (d.strategy.fsdp.prefetch < 0) {
    throw refusal("S024", "fsdp cannot prefetch a negative number of layers",
                  "strategy.fsdp_options.prefetch", "0 or more", "set it to 1");
  }
  const bool copies = both_ways(d.strategy);
  if (data_axes(d).empty() && !copies) return;
  const int stage = d.strategy.zero_stage;
  const bool served = d.strategy.parameter_server.any();
  if (stage > 0 || served) {
    const bool gathers_here = stage == 3 || d.strategy.data.overlap;  // else behind the optimizer
    const GatherBlocks gathers = gathers_here ? add_gather_blocks(d) : GatherBlocks{};
    for (std::size_t i = 0; i < d.programs.size(); ++i) {
      Program& program = d.programs[i];
      if (stage == 3) {
        program = gather_before_use(d, gathers, program);
      } else if (gathers_here) {  // the previous step's updates, hidden by this forward
        Program out;
        for (const UnitInstance& u : d.program_units[i])
          if (d.unit(u.kind).gathered()) out.calls.push_back(gather_call(gathers, u));
        const auto shift = static_cast<std::int32_t>(out.calls.size());
        for (Call call : program.calls) {
          if (call.after >= 0) call.after += shift;
          out.calls.push_back(call);
        }
        program = std::move(out);
      }
    }
  }
  if (served) {
    for (Program& program : d.programs) push_gradients(d, program);
    return;
  }
  GradientReduction reduction(d);
  for (Program& program : d.programs) {
    program = stage >= 2 ? reduction.each_microbatch(program)
              : copies   ? reduction.over_copies(program)
                         : reduction.in_buckets(program);
  }
}

}  // namespace plait
