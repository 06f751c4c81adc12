// Bus bandwidths that others published for large collectives, on machines and networks that no
// constant was fitted to: measured and predicted agree within the band that the prediction states.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "costmodel/nccl_tuning.h"
#include "tests/costmodel/devices.h"

namespace plait::published_peaks_test {

using enum CollectiveKind;

struct Peak {
  const char* where;
  CollectiveKind kind;
  std::int64_t bytes;
  GroupPlacement group;
  Device device;
  double busbw;  // GB/s, as nccl-tests defines it
};

Device h200() { return gpu("h200-sxm", 90, 989.4e12, 4.8e12, 50, 1.3e-6); }
Device gb200() { return gpu("gb200", 100, 2500e12, 8e12, 126, 1.3e-6); }

// ml-engineering; NVIDIA GTC 2025, S72583; CoreWeave's and NVIDIA's issues of nccl-tests (#309).
const std::vector<Peak>& peaks_of_one_island() {
  static const std::vector<Peak> peaks = {
      {"H200 (ml-engineering)", kAllReduce, 16 * kGiB, island(h200(), 8), h200(), 482.3},
      {"H200 (ml-engineering)", kAllReduce, 8 * kGiB, island(h200(), 5), h200(), 414.2},
      {"H200 (ml-engineering)", kAllGather, 16 * kGiB, island(h200(), 8), h200(), 361.4},
      {"H200 (ml-engineering)", kReduceScatter, 16 * kGiB, island(h200(), 8), h200(), 362.9},
      {"B200 (ml-engineering)", kAllReduce, 8 * kGiB, island(b200(), 4), b200(), 673.2},
      {"GB200 (Azure)", kAllReduce, 8 * kGiB, island(gb200(), 4), gb200(), 679.6},
      {"GB200 NVL72 (CoreWeave)", kAllReduce, 8 * kGiB, island(gb200(), 72), gb200(), 834.6},
      {"A100 (GTC 2025)", kAllToAll, 8 * kGiB, island(a100(), 8), a100(), 210},
      {"H100 (GTC 2025)", kAllToAll, 8 * kGiB, island(h100(), 8), h100(), 320},
      {"B200 (GTC 2025)", kAllToAll, 8 * kGiB, island(b200(), 8), b200(), 640},
      {"GB200 NVL72 (GTC 2025)", kAllToAll, 8 * kGiB, island(gb200(), 32), gb200(), 640},
  };
  return peaks;
}

const std::vector<Peak>& peaks_between_islands() {
  static const std::vector<Peak> peaks = {
      {"A100, 200 Gbit/s (GTC 2025)", kAllReduce, 8 * kGiB, islands(a100(), 4, 8, 25e9), a100(),
       192},
      {"H100 (GTC 2025)", kAllReduce, 8 * kGiB, islands(h100(), 4, 8), h100(), 370},
      {"H100 (nccl-tests #309)", kAllReduce, 16 * kGiB, islands(h100(), 2, 8), h100(), 470},
      {"H100 (nccl-tests #309)", kAllReduce, 16 * kGiB, islands(h100(), 4, 8), h100(), 365.8},
      {"H100 (CoreWeave)", kAllReduce, 8 * kGiB, islands(h100(), 8, 8), h100(), 384.5},
      {"H200 p5en (ml-engineering)", kAllReduce, 4 * kGiB, islands(h200(), 4, 8), h200(), 364.9},
      {"B200 p6 (ml-engineering)", kAllReduce, 16 * kGiB, islands(b200(), 4, 8), b200(), 381.8},
      {"GB200, 2 racks (CoreWeave)", kAllReduce, 16 * kGiB, islands(gb200(), 2, 72), gb200(),
       811.1},
      {"A100, 200 Gbit/s (GTC 2025)", kAllToAll, 8 * kGiB, islands(a100(), 4, 8, 25e9), a100(), 24},
      {"H100 (GTC 2025)", kAllToAll, 8 * kGiB, islands(h100(), 4, 8), h100(), 48},
  };
  return peaks;
}

// Outside the band: other labs' machines start slower or faster (16 MiB); NVL72 reaches its rate
// later than 8 GPUs do; EFA is slower than InfiniBand at all but the largest sizes; 20 racks meet
// in a network that the publication does not describe.
const std::vector<Peak>& known_misses() {
  static const std::vector<Peak> peaks = {
      {"H200 (ml-engineering)", kAllReduce, 16 * kMiB, island(h200(), 8), h200(), 219.9},
      {"GB200 (Azure)", kAllReduce, 16 * kMiB, island(gb200(), 4), gb200(), 331.1},
      {"GB200 NVL72 (CoreWeave)", kAllReduce, kGiB, island(gb200(), 72), gb200(), 681.2},
      {"A100 p4d, 4 x 100 Gbit/s (nccl #527)", kAllReduce, kGiB, islands(a100(), 4, 8, 6.25e9),
       a100(), 29.6},
      {"B200 p6 (ml-engineering)", kAllReduce, 256 * kMiB, islands(b200(), 4, 8), b200(), 229.1},
      {"B200 p6 (ml-engineering)", kAllReduce, 16 * kMiB, islands(b200(), 4, 8), b200(), 64.4},
      {"GB200, 20 racks (CoreWeave)", kAllReduce, 16 * kGiB, islands(gb200(), 20, 72), gb200(),
       405.7},
  };
  return peaks;
}

void compare(const std::vector<Peak>& peaks, bool within) {
  for (const Peak& p : peaks) {
    const auto n = static_cast<double>(p.group.ranks);
    const CollectiveCost c = cost_of(p.kind, p.bytes, p.group, p.device);
    const double sent = (p.kind == kAllReduce ? 2 : 1) * (n - 1) / n * static_cast<double>(p.bytes);
    const double busbw = sent / c.cost.total().value / 1e9;
    const std::string line = fmt::format(
        "{:38} {:14} n={:<4} {:6} MiB {:9} measured {:5.1f}, predicted {:5.1f} GB/s: {:+5.1f} %",
        p.where, name_of(p.kind), p.group.ranks, p.bytes / kMiB, name_of(c.algorithm), p.busbw,
        busbw, 100 * (busbw / p.busbw - 1));
    fmt::print("{}\n", line);
    EXPECT_EQ(std::abs(busbw / p.busbw - 1) <= c.cost.band, within) << line;
  }
}

TEST(PublishedPeaks, OfOneIslandAreWithinTheBand) { compare(peaks_of_one_island(), true); }
TEST(PublishedPeaks, BetweenIslandsAreWithinTheBand) { compare(peaks_between_islands(), true); }
TEST(PublishedPeaks, ThatAreMissedAreKnown) { compare(known_misses(), false); }

}  // namespace plait::published_peaks_test
