#include <cblas.h>

#include "model/op_json.h"
#include "realrun/bench/bench.h"
#include "realrun/bench/kernel_call.h"
#include "realrun/bench/timing.h"

namespace plait {
namespace {

// Larger than any second-level cache, and than what a virtual machine gets of a shared third level.
constexpr std::int64_t kPoolBytes = 256 << 20, kQuickPoolBytes = 8 << 20;

/// Products vary more from call to call, and most of a step is spent in them.
double seconds_of(const Compute& op) { return uses_matrix_units(op) ? 0.05 : 0.025; }
constexpr double kQuickSeconds = 0.002;

}  // namespace

void bench_compute(RowsFile& file, const BenchOptions& options) {
  const bool quick = options.size == GridSize::kQuick;
  ::openblas_set_num_threads(1);
  const std::vector<Compute> grid = compute_grid(options.size);
  double whole = 0;
  for (const Compute& op : grid) whole += seconds_of(op);
  const double scale = options.seconds > 0 ? options.seconds / whole : 1;
  OperandPool pool(quick ? kQuickPoolBytes : kPoolBytes);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    KernelRow row;
    row.op = grid[i];
    if (file.has(row)) continue;
    options.progress(i, grid.size(), std::string(kernel_name(row.op)));
    TimingOptions timing;
    timing.seconds = quick && options.seconds == 0 ? kQuickSeconds : seconds_of(row.op) * scale;
    if (quick) timing.least_repeats = 3;
    const Timed t = time_calls(kernel_call(row.op, pool), timing);
    row.repeats = t.repeats, row.calls = t.calls, row.wall = t.wall, row.cpu = t.cpu;
    row.switches = t.switches;
    file.add(row);
  }
}

}  // namespace plait
