#include "realrun/bench/gpu_comm.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "realrun/bench/bench.h"
#include "realrun/bench/shared_rows.h"
#include "realrun/bench/timed_collective.h"

namespace plait {
namespace {

constexpr double kPatience = 60;
constexpr double kSecondsPerSize = 0.02, kQuickSecondsPerSize = 0.002;
constexpr double kMostRepeats = 200, kLeastRepeats = 3;
constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                     CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll};
/// Each is timed out of place and in place, all_to_all only out of place.
constexpr std::size_t kTimesOfAGroup = 2 * std::size(kKinds) - 1;

/// What all ranks do together, told by rank 0, which has the file.
class GpuCommBench {
 public:
  GpuCommBench(Transport& transport, RowsFile* file, const BenchOptions& options,
               const std::vector<std::int64_t>& node_of, GpuComm& gpus)
      : rank_(transport.rank()),
        options_(options),
        node_of_(node_of),
        gpus_(gpus),
        control_(transport, kPatience),
        rows_(control_, file, options) {}

  void measure() {
    const auto groups = measured_groups(node_of_);
    const auto pairs = measured_pairs(node_of_);
    rows_.expect(sizes().size() * (pairs.size() + groups.size() * std::size(kKinds)));
    const bool quick = options_.size == GridSize::kQuick;
    seconds_ = quick ? kQuickSecondsPerSize : kSecondsPerSize;
    if (options_.seconds > 0) {
      const std::size_t timed = sizes().size() * (pairs.size() + groups.size() * kTimesOfAGroup);
      seconds_ = options_.seconds / static_cast<double>(timed);
    }
    for (const RankGroup& pair : pairs) {
      for (const std::int64_t bytes : sizes()) message(pair, bytes);
    }
    for (const RankGroup& group : groups) {
      for (const CollectiveKind kind : kKinds) {
        for (const std::int64_t bytes : sizes()) collective(kind, group, bytes);
      }
    }
  }

 private:
  /// By factors of two from 1 KiB.
  std::vector<std::int64_t> sizes() const {
    std::vector<std::int64_t> out;
    const std::int64_t largest = largest_collective(options_.size);
    for (std::int64_t size = 1 << 10; size <= largest; size *= 2) out.push_back(size);
    return out;
  }
  /// "nccl" within a node, "nccl over 2 nodes".
  std::string name_of_way(const RankGroup& group) const {
    std::vector<std::int64_t> nodes;
    for (const std::int64_t r : group) nodes.push_back(node_of_[static_cast<std::size_t>(r)]);
    return "nccl" + over_nodes(nodes);
  }
  /// What rank 0, a member of every group, sees of `time(repeats)`.
  template <class F>
  double measured(const RankGroup& group, std::int64_t& repeats, F&& time) {
    const bool member = std::ranges::find(group, rank_) != group.end();
    const double trial = member ? time(2) : 0;
    const double wanted = control_.agreed(seconds_ / std::max(trial, 1e-7));
    repeats = static_cast<std::int64_t>(std::clamp(wanted, kLeastRepeats, kMostRepeats));
    return member ? time(repeats) : 0;
  }

  void message(const RankGroup& pair, std::int64_t size) {
    MessageRow row;
    row.transport = name_of_way(pair), row.bytes = size;
    if (!rows_.is_due(row, "messages")) return;
    const double seconds =
        measured(pair, row.repeats, [&](std::int64_t n) { return gpus_.message(pair, size, n); });
    row.one_way = row.send_cpu = row.receive_cpu = {seconds, seconds, seconds};
    rows_.add(row);
  }
  void collective(CollectiveKind kind, const RankGroup& group, std::int64_t size) {
    const auto n = static_cast<std::int64_t>(group.size());
    CollectiveRow row;
    row.transport = name_of_way(group), row.collective = std::string(name_of(kind)), row.ranks = n;
    const std::int64_t elements = size / (n * size_of(DType::kFp32)) * n;
    row.size = elements * size_of(DType::kFp32);
    if (elements == 0 || !rows_.is_due(row, row.collective)) return;
    row.count = kind == CollectiveKind::kAllReduce ? elements : elements / n;
    const bool sums = kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter;
    row.redop = sums ? "sum" : "none";
    const auto timed = [&](bool in_place) {
      const double seconds = measured(group, row.repeats, [&](std::int64_t repeats) {
        return gpus_.collective(kind, group, elements, in_place, repeats);
      });
      CollectiveRow::Timed out;
      if (rank_ != 0) return out;
      out.time_us = seconds * 1e6, out.algbw = static_cast<double>(row.size) / seconds * 1e-9;
      out.busbw = out.algbw * bus_factor(kind, n);
      return out;
    };
    row.out_of_place = timed(false);
    row.in_place = kind == CollectiveKind::kAllToAll ? row.out_of_place : timed(true);
    rows_.add(row);
  }

  std::int64_t rank_;
  const BenchOptions& options_;
  const std::vector<std::int64_t>& node_of_;
  GpuComm& gpus_;
  Control control_;
  SharedRows rows_;
  double seconds_ = kSecondsPerSize;
};

std::vector<std::int64_t> first_of_each_node(const std::vector<std::int64_t>& node_of) {
  std::vector<std::int64_t> out;
  std::set<std::int64_t> seen;
  for (std::size_t r = 0; r < node_of.size(); ++r) {
    if (seen.insert(node_of[r]).second) out.push_back(static_cast<std::int64_t>(r));
  }
  return out;
}

}  // namespace

std::string over_nodes(const std::vector<std::int64_t>& nodes) {
  const std::set<std::int64_t> distinct(nodes.begin(), nodes.end());
  return distinct.size() < 2 ? "" : " over " + std::to_string(distinct.size()) + " nodes";
}

/// That of the largest gradient buckets.
std::int64_t largest_collective(GridSize size) {
  return size == GridSize::kQuick ? 8 << 10 : std::int64_t{1} << 30;
}

std::vector<RankGroup> measured_groups(const std::vector<std::int64_t>& node_of) {
  std::set<RankGroup> out;
  const auto ranks = static_cast<std::int64_t>(node_of.size());
  for (std::int64_t n = 2; n < 2 * ranks; n *= 2) {
    RankGroup group(static_cast<std::size_t>(std::min(n, ranks)));
    std::iota(group.begin(), group.end(), 0);
    out.insert(std::move(group));
  }
  if (RankGroup spread = first_of_each_node(node_of); spread.size() > 1) out.insert(spread);
  return {out.begin(), out.end()};
}

std::vector<RankGroup> measured_pairs(const std::vector<std::int64_t>& node_of) {
  std::set<RankGroup> out = {{0, 1}};
  if (RankGroup spread = first_of_each_node(node_of); spread.size() > 1) {
    out.insert({spread[0], spread[1]});
  }
  return {out.begin(), out.end()};
}

void bench_gpu_comm(Transport& transport, RowsFile* file, const BenchOptions& options,
                    const std::vector<std::int64_t>& node_of, GpuComm& gpus) {
  GpuCommBench(transport, file, options, node_of, gpus).measure();
}

}  // namespace plait
