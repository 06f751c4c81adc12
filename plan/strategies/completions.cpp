// Where in a program gradients are complete.
#include <algorithm>
#include <set>

#include "plan/calls_met.h"
#include "plan/strategies/data_parallel.h"

namespace plait {

std::vector<Ready> completions(const Draft& d, const Program& program, bool each_microbatch) {
  // What the head's piece has of the embedding is complete long before the embedding's own is.
  const std::int64_t pieces = ends_pass_apart(d) ? d.strategy.pipeline.chunks : 1;
  std::vector<UnitSet> seen(static_cast<std::size_t>(each_microbatch ? d.microbatches * pieces : 1),
                            UnitSet(d));
  std::vector<Ready> out;
  CallsMet met(d.block_units.size(), d.last_stream());
  for (std::size_t i = program.calls.size(); i-- > 0;) {
    // The last microbatch to call a layer completes its units.
    if (!each_microbatch && !met.insert(program.calls[i])) continue;
    Ready ready{i, {}};
    for (const UnitInstance& u : unit_grades(d, program.calls[i])) {
      const std::int64_t piece = pieces > 1 ? program.calls[i].chunk : 0;
      const std::int64_t pass = each_microbatch ? program.calls[i].microbatch * pieces + piece : 0;
      if (seen[static_cast<std::size_t>(pass)].insert(u)) ready.units.push_back(u);
    }
    if (!ready.units.empty()) out.push_back(std::move(ready));
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<bool> ends_of_pieces(const Program& program, const std::vector<Ready>& ready) {
  std::vector<bool> out(ready.size());
  std::set<std::int32_t> met;
  for (std::size_t i = ready.size(); i-- > 0;) {
    out[i] = met.insert(program.calls[ready[i].call].chunk).second;
  }
  return out;
}

}  // namespace plait
