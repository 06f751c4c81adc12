#include <algorithm>

#include "realrun/bench/bench.h"

namespace plait {
namespace {

constexpr double kStreamSeconds = 0.05, kQuickStreamSeconds = 0.002;

std::vector<std::int64_t> sizes(std::int64_t largest) {
  std::vector<std::int64_t> out;
  for (std::int64_t size = 256; size <= largest; size *= 2) {
    out.push_back(size);
    if (size < largest) out.push_back(size + size / 2);
  }
  return out;
}

}  // namespace

void bench_streams(RowsFile& file, const BenchOptions& options,
                   const std::vector<StreamKernel>& kinds, std::int64_t largest,
                   const TimeStream& time) {
  const std::vector<std::int64_t> all = sizes(largest);
  const std::size_t rows = all.size() * kinds.size();
  TimingOptions timing;
  timing.seconds = options.size == GridSize::kQuick ? kQuickStreamSeconds : kStreamSeconds;
  if (options.seconds > 0) timing.seconds = options.seconds / static_cast<double>(rows);
  std::size_t done = 0;
  for (const StreamKernel& kind : kinds) {
    for (const std::int64_t bytes : all) {
      CopyRow row;
      row.what = kind.what, row.bytes = bytes;
      options.progress(done++, rows, row.what);
      if (file.has(row)) continue;
      const Timed t = time(kind.what, bytes, timing);
      row.repeats = t.repeats, row.calls = t.calls, row.wall = t.wall, row.cpu = t.cpu;
      row.bandwidth = kind.traffic * static_cast<double>(bytes) / std::max(t.cpu.median, 1e-12);
      file.add(row);
    }
  }
}

}  // namespace plait
