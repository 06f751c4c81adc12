#include "model/op_json.h"
#include "realrun/bench/bench.h"

namespace plait {
namespace {

/// Products vary more from call to call, and most of a step is spent in them.
double seconds_of(const Compute& op) { return uses_matrix_units(op) ? 0.03 : 0.015; }
constexpr double kQuickKernelSeconds = 0.002;

}  // namespace

void bench_kernels(RowsFile& file, const BenchOptions& options, const std::vector<Compute>& grid,
                   int rounds, const TimeKernel& time) {
  const bool quick = options.size == GridSize::kQuick;
  double whole = 0;
  for (const Compute& op : grid) whole += seconds_of(op) * rounds;
  const double scale = options.seconds > 0 ? options.seconds / whole : 1;
  std::size_t done = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const Compute& op : grid) {
      KernelRow row;
      row.op = op, row.round = round;
      const std::size_t before = done++;
      if (file.has(row)) continue;
      options.progress(before, static_cast<std::size_t>(rounds) * grid.size(),
                       std::string(kernel_name(op)));
      TimingOptions timing;
      timing.seconds = quick && options.seconds == 0 ? kQuickKernelSeconds : seconds_of(op) * scale;
      timing.least_repeats = 3;
      const Timed t = time(op, timing);
      row.repeats = t.repeats, row.calls = t.calls, row.wall = t.wall, row.cpu = t.cpu;
      row.switches = t.switches, row.traffic = memory_traffic(op).value;
      file.add(row);
    }
  }
}

}  // namespace plait
