#include <algorithm>
#include <cstring>

#include "kernels/add.h"
#include "kernels/fill.h"
#include "kernels/squared_norm.h"
#include "realrun/bench/bench.h"
#include "realrun/bench/pool.h"
#include "realrun/bench/timing.h"

namespace plait {
namespace {

constexpr std::int64_t kPoolBytes = 256 << 20, kQuickPoolBytes = 8 << 20;
constexpr double kSeconds = 0.05, kQuickSeconds = 0.002;

struct Stream {
  const char* what;
  double traffic;  // bytes read and written per byte of its size
  void (*run)(OperandPool& pool, std::int64_t elements);
};

// Reading is a sum of squares: the cheapest kernel that reads everything and writes nothing.
constexpr Stream kKinds[] = {
    {"copy", 2,
     [](OperandPool& pool, std::int64_t n) {
       std::memcpy(pool.output(n), pool.input(n), static_cast<std::size_t>(n) * sizeof(float));
     }},
    {"combine", 3,
     [](OperandPool& pool, std::int64_t n) {
       float* own = pool.output(n);
       kernels::add<float>(own, own, pool.input(n), nullptr, 1, n);
     }},
    {"read", 1,
     [](OperandPool& pool, std::int64_t n) {
       kernels::squared_norm(pool.output(1), pool.input(n), n, false);
     }},
    {"fill", 1, [](OperandPool& pool, std::int64_t n) { kernels::fill(pool.output(n), 0.0F, n); }},
};

/// 256 B to 64 MiB (quick: 1 MiB), two sizes per octave.
std::vector<std::int64_t> sizes(bool quick) {
  const std::int64_t largest = quick ? 1 << 20 : 64 << 20;
  std::vector<std::int64_t> out;
  for (std::int64_t size = 256; size <= largest; size *= 2) {
    out.push_back(size);
    if (size < largest) out.push_back(size + size / 2);
  }
  return out;
}

}  // namespace

void bench_copy(RowsFile& file, const BenchOptions& options) {
  const bool quick = options.size == GridSize::kQuick;
  const std::vector<std::int64_t> all = sizes(quick);
  const std::size_t rows = all.size() * std::size(kKinds);
  OperandPool pool(quick ? kQuickPoolBytes : kPoolBytes);
  TimingOptions timing;
  timing.seconds = quick ? kQuickSeconds : kSeconds;
  if (options.seconds > 0) timing.seconds = options.seconds / static_cast<double>(rows);
  std::size_t done = 0;
  for (const Stream& stream : kKinds) {
    for (const std::int64_t bytes : all) {
      CopyRow row;
      row.what = stream.what, row.bytes = bytes;
      options.progress(done++, rows, row.what);
      if (file.has(row)) continue;
      const Timed t = time_calls([&] { stream.run(pool, bytes / 4); }, timing);
      row.repeats = t.repeats, row.calls = t.calls, row.wall = t.wall, row.cpu = t.cpu;
      row.bandwidth = stream.traffic * static_cast<double>(bytes) / std::max(t.cpu.median, 1e-12);
      file.add(row);
    }
  }
}

}  // namespace plait
