#pragma once
// The timeline as Chrome trace JSON, which Perfetto (ui.perfetto.dev) opens: one process per traced
// rank, one thread per stream with slices from a fixed vocabulary ("matmul", "all_reduce", ...),
// and above them one with the phases of the compute stream ("fwd", "bwd", ...), with layer,
// microbatch, chunk and bytes as arguments, an arrow from each send to its recv, and the rank's
// memory as a stacked counter.
//
// Times are whole nanoseconds (start rounded down, end rounded down), so slices that do not overlap
// in picoseconds do not overlap in the trace.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/timeline.h"
#include "reports/report.h"

namespace plait {

struct TraceInputs {
  const Plan& plan;
  const Timeline& timeline;
  const std::vector<StageUse>& memory;  // per stage, with StageMemory::curve; may be empty
  RunFacts run;
  std::vector<std::int64_t> ranks;  // to trace; empty: those of shown_tracks
  /// Of a real run of the same plan: its ranks are shown beside the simulated ones.
  const Timeline* measured = nullptr;
  std::vector<std::string> devices = {};  // of each rank; empty: all are alike
};

/// About how many bytes the document has.
std::int64_t size_of_trace(const TraceInputs& in);

/// Writes the document piece by piece; `write` is called with consecutive parts of some ten
/// kilobytes. Throws InputError (G) when one of the ranks is not the representative of a track.
void write_trace(const TraceInputs& in, const std::function<void(std::string_view)>& write);

}  // namespace plait
