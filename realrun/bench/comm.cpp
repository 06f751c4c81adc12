#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "realrun/bench/bench.h"
#include "realrun/bench/ping_pong.h"
#include "realrun/bench/shared_rows.h"
#include "realrun/bench/timed_collective.h"
#include "realrun/bench/timing.h"

namespace plait {
namespace {

constexpr double kSeconds = 0.1, kQuickSeconds = 0.002;  // of one size

/// What all ranks do together, told by rank 0, which has the file.
class CommBench {
 public:
  CommBench(Transport& transport, RowsFile* file, const BenchOptions& options)
      : transport_(transport),
        quick_(options.size == GridSize::kQuick),
        control_(transport, kPatience),
        rows_(control_, file, options) {
    for (std::int64_t n = 2; n < transport.ranks(); n *= 2) groups_.push_back(n);
    groups_.push_back(transport.ranks());
    const std::size_t collectives = sizes().size() * std::size(kKinds) * groups_.size();
    const std::size_t rows = 1 + sizes().size() + collectives;
    rows_.expect(rows);
    seconds_ = options.seconds > 0 ? options.seconds / static_cast<double>(rows)
               : quick_            ? kQuickSeconds
                                   : kSeconds;
  }

  void measure() {
    wake();
    for (std::int64_t bytes : sizes()) message(bytes);
    for (CollectiveKind kind : kKinds) {
      for (std::int64_t members : groups_) {
        for (std::int64_t bytes : sizes()) collective(kind, members, bytes);
      }
    }
  }

 private:
  static constexpr double kPatience = 60;
  static constexpr CollectiveKind kKinds[] = {
      CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter};

  /// From 4 bytes for each rank, by factors of two, to 16 MiB (quick: 64 KiB).
  std::vector<std::int64_t> sizes() const {
    std::vector<std::int64_t> out;
    const std::int64_t largest = quick_ ? 64 << 10 : 16 << 20;
    for (std::int64_t size = 4 * transport_.ranks(); size <= largest; size *= 2)
      out.push_back(size);
    return out;
  }
  double mean_over(std::int64_t members, double mine) {
    const auto all = control_.gather(as_vector(mine));
    double sum = 0;
    for (std::size_t r = 0; r < all.size() && static_cast<std::int64_t>(r) < members; ++r) {
      sum += as_value<double>(all[r]);
    }
    return sum / static_cast<double>(members);
  }
  /// How often something is repeated that takes `seconds` on rank 0.
  std::int64_t repeats_of(double seconds) {
    const double wanted = control_.agreed(seconds_ / std::max(seconds, 1e-9));
    return static_cast<std::int64_t>(std::clamp(wanted, 5.0, 400.0));
  }

  void wake() {
    WakeRow row;
    row.transport = transport_.name();
    if (!rows_.is_due(row, "wake")) return;
    row.repeats = quick_ ? 50 : 300;
    const WakeTimes times = wake_times(transport_, control_, row.repeats);
    if (transport_.rank() != 0) return;
    row.wall = spread_of(times.wake), row.exchange = spread_of(times.exchange);
    row.bytes = kExchanged;
    rows_.add(row);
  }

  void message(std::int64_t bytes) {
    MessageRow row;
    row.transport = transport_.name(), row.bytes = bytes;
    if (!rows_.is_due(row, "messages")) return;
    const bool takes_part = transport_.rank() < 2;
    PingPong trial;
    if (takes_part) trial = ping_pong(transport_, bytes, 3);
    row.repeats = repeats_of(takes_part ? 2 * trial.one_way.back() : 0);
    control_.barrier();
    if (!takes_part) return;
    const PingPong p = ping_pong(transport_, bytes, row.repeats);
    row.one_way = spread_of(p.one_way);
    row.send_cpu = spread_of(p.send_cpu), row.receive_cpu = spread_of(p.receive_cpu);
    rows_.add(row);
  }

  CollectiveRow::Timed timed(CollectiveRow& row, CollectiveKind kind, bool in_place) {
    const std::int64_t elements = row.size / size_of(DType::kFp32);
    const CollectiveTimes mine =
        time_collective(transport_, control_, kind, row.ranks, elements, in_place, row.repeats);
    const double seconds = mean_over(row.ranks, mine.wall), cpu = mean_over(row.ranks, mine.cpu);
    CollectiveRow::Timed out;
    if (transport_.rank() != 0) return out;
    if (!in_place) row.cpu_us = cpu * 1e6;
    out.time_us = seconds * 1e6;
    out.algbw = static_cast<double>(row.size) / seconds * 1e-9;
    out.busbw = out.algbw * bus_factor(kind, row.ranks);
    return out;
  }

  void collective(CollectiveKind kind, std::int64_t members, std::int64_t bytes) {
    CollectiveRow row;
    row.transport = transport_.name(), row.collective = std::string(name_of(kind));
    row.ranks = members;
    row.size = bytes / (members * size_of(DType::kFp32)) * members * size_of(DType::kFp32);
    if (row.size == 0 || !rows_.is_due(row, row.collective)) return;
    const bool whole = kind == CollectiveKind::kAllReduce;
    row.count = row.size / size_of(DType::kFp32) / (whole ? 1 : members);
    row.redop = kind == CollectiveKind::kAllGather ? "none" : "sum";
    row.repeats = 2;
    row.repeats = repeats_of(2e-6 * timed(row, kind, false).time_us);
    row.out_of_place = timed(row, kind, false);
    row.in_place = timed(row, kind, true);
    rows_.add(row);
  }

  Transport& transport_;
  bool quick_;
  Control control_;
  SharedRows rows_;
  std::vector<std::int64_t> groups_;
  double seconds_ = kSeconds;
};

}  // namespace

void bench_comm(Transport& transport, RowsFile* file, const BenchOptions& options) {
  PLAIT_CHECK(transport.ranks() > 1, "messages need two ranks");
  CommBench(transport, file, options).measure();
}

}  // namespace plait
