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

constexpr std::int64_t kCopyPoolBytes = 256 << 20, kQuickCopyPoolBytes = 8 << 20;
constexpr std::int64_t kLargestCopy = 64 << 20, kQuickLargestCopy = 1 << 20;

struct CopyStream {
  std::string_view what;
  double traffic;
  void (*run)(OperandPool& pool, std::int64_t elements);
};

// Reading is a sum of squares: the cheapest kernel that reads everything and writes nothing.
constexpr CopyStream kCopyStreams[] = {
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

}  // namespace

void bench_copy(RowsFile& file, const BenchOptions& options) {
  const bool quick = options.size == GridSize::kQuick;
  OperandPool pool(quick ? kQuickCopyPoolBytes : kCopyPoolBytes);
  std::vector<StreamKernel> kinds;
  for (const CopyStream& s : kCopyStreams) kinds.push_back({std::string(s.what), s.traffic});
  bench_streams(file, options, kinds, quick ? kQuickLargestCopy : kLargestCopy,
                [&](const std::string& what, std::int64_t bytes, const TimingOptions& timing) {
                  const CopyStream* stream =
                      std::ranges::find(kCopyStreams, what, &CopyStream::what);
                  return time_calls([&] { stream->run(pool, bytes / 4); }, timing);
                });
}

}  // namespace plait
