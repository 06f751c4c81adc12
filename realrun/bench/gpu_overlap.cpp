#include "realrun/bench/gpu_overlap.h"

#include <algorithm>
#include <cmath>

#include "model/op_json.h"
#include "realrun/bench/bench.h"
#include "realrun/bench/gpu_comm.h"
#include "realrun/bench/shared_rows.h"
#include "realrun/bench/timing.h"

namespace plait {
namespace {

constexpr double kOverlapPatience = 60;  // seconds
/// What is timed goes on for so long: hundreds of times the moment at which two streams begin.
constexpr double kSpan = 4e-3, kQuickSpan = 20e-6;
constexpr std::int64_t kMostCallsOfSpan = 500;
constexpr std::size_t kSpans = 5, kQuickSpans = 2;
/// About how many spans' time each of a row's takes: both sides alone, and each while the other one
/// has kMargin times as much to do.
constexpr double kTimesSpan = 7;
/// The other side is given so many times what it needs alone; should compute or communication be
/// slowed down by more, twice as much, and so on.
constexpr double kMargin = 2;
constexpr int kTries = 4;

/// What all ranks do together, told by rank 0, which has the file.
class OverlapBench {
 public:
  OverlapBench(Transport& transport, RowsFile* file, const BenchOptions& options,
               const std::vector<std::int64_t>& node_of, GpuOverlap& gpu)
      : options_(options),
        spans_(options.size == GridSize::kQuick ? kQuickSpans : kSpans),
        way_(gpu.transport() + over_nodes(node_of)),
        gpu_(gpu),
        control_(transport, kOverlapPatience),
        rows_(control_, file, options) {}

  void measure() {
    const std::int64_t largest = largest_overlap(options_.size);
    const std::vector<std::int64_t> sizes = {largest / 8, largest};
    const std::vector<Compute> ops = overlapped_ops(options_.size);
    const std::vector<std::string> communications = gpu_.communications();
    const std::size_t rows = sizes.size() * ops.size() * communications.size();
    rows_.expect(rows);
    span_ = options_.size == GridSize::kQuick ? kQuickSpan : kSpan;
    if (options_.seconds > 0) {
      span_ = options_.seconds / (static_cast<double>(rows * spans_) * kTimesSpan);
    }
    for (const std::string& communication : communications) {
      for (const std::int64_t size : sizes) {
        for (const Compute& op : ops) overlap(op, communication, size);
      }
    }
  }

 private:
  bool on_all_ranks(bool mine) {
    bool all = true;
    for (const std::vector<std::byte>& one : control_.gather(as_vector(mine))) {
      all = all && as_value<bool>(one);
    }
    return control_.agreed(all);
  }

  struct Alone {
    double seconds = 0;      // of one call, the same on all ranks
    std::int64_t calls = 1;  // of a span
    Spread spread;
  };
  Alone alone(OverlapSide side) {
    constexpr std::int64_t kTrial = 3;
    Alone out;
    out.seconds = std::max(control_.agreed(gpu_.time(side, kTrial, 0).seconds), 1e-9);
    const double calls = std::ceil(span_ / out.seconds);
    out.calls = std::clamp<std::int64_t>(std::llround(calls), 1, kMostCallsOfSpan);
    out.spread = spread_of(spans(side, out.calls, 0).seconds);
    return out;
  }
  struct Spans {
    std::vector<double> seconds;
    bool covered = true;
  };
  Spans spans(OverlapSide side, std::int64_t calls, std::int64_t beside) {
    Spans out;
    for (std::size_t i = 0; i < spans_; ++i) {
      const GpuOverlap::Times t = gpu_.time(side, calls, beside);
      out.seconds.push_back(t.seconds), out.covered = out.covered && t.covered;
    }
    out.covered = on_all_ranks(out.covered);
    return out;
  }
  /// One side while the other is busy, as long as it takes.
  Spread beside(OverlapSide side, const Alone& mine, const Alone& other, OverlapRow& row) {
    const double needed = static_cast<double>(mine.calls) * mine.seconds / other.seconds;
    auto calls = static_cast<std::int64_t>(std::ceil(kMargin * needed)) + 1;
    Spans found;
    for (int tries = 0; tries < kTries; ++tries, calls *= 2) {
      found = spans(side, mine.calls, calls);
      if (found.covered) break;
    }
    row.covered = row.covered && found.covered;
    return spread_of(found.seconds);
  }

  void overlap(const Compute& op, const std::string& communication, std::int64_t size) {
    OverlapRow row;
    row.op = op, row.transport = way_, row.communication = communication;
    row.ranks = gpu_.ranks(), row.size = size, row.multiprocessors = gpu_.multiprocessors();
    if (!rows_.is_due(row, std::string(kernel_name(op)) + " beside " + communication)) return;
    gpu_.take(op, communication, size);
    const Alone compute = alone(OverlapSide::kCompute), moves = alone(OverlapSide::kCommunication);
    row.repeats = static_cast<std::int64_t>(spans_), row.covered = true;
    row.compute_alone = compute.spread, row.communication_alone = moves.spread;
    row.compute_beside = beside(OverlapSide::kCompute, compute, moves, row);
    row.communication_beside = beside(OverlapSide::kCommunication, moves, compute, row);
    rows_.add(row);
  }

  const BenchOptions& options_;
  std::size_t spans_;
  double span_ = kSpan;  // seconds
  std::string way_;
  GpuOverlap& gpu_;
  Control control_;
  SharedRows rows_;
};

}  // namespace

/// That of a large gradient bucket.
std::int64_t largest_overlap(GridSize size) {
  return size == GridSize::kQuick ? 8 << 10 : std::int64_t{256} << 20;
}

std::vector<Compute> overlapped_ops(GridSize size) {
  const bool quick = size == GridSize::kQuick;
  const std::int64_t rows = quick ? 32 : 8192, width = quick ? 16 : 4096;
  const std::int64_t parameters = quick ? 1 << 10 : std::int64_t{64} << 20;
  const DType type = DType::kBf16;
  return {MatMul{.layout = GemmLayout::kNT, .m = rows, .n = width, .k = width, .in = type},
          MatMul{.layout = GemmLayout::kNN, .m = rows, .n = width, .k = 4 * width, .in = type},
          MatMul{.layout = GemmLayout::kTN,
                 .m = width,
                 .n = width,
                 .k = rows,
                 .in = type,
                 .out = DType::kFp32},
          Norm{.rows = rows, .width = width, .dtype = type},
          Activation{.rows = rows, .width = 2 * width, .dtype = type},
          Adam{.elements = parameters}};
}

void bench_gpu_overlap(Transport& transport, RowsFile* file, const BenchOptions& options,
                       const std::vector<std::int64_t>& node_of, GpuOverlap& gpu) {
  OverlapBench(transport, file, options, node_of, gpu).measure();
}

}  // namespace plait
