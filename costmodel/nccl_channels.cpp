// How many rings NCCL finds and how fast each is: the ladder speed that maximises count x speed
// within the links, at most 32 rings, then twice as many at half the speed where each is fast.

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "costmodel/nccl_tuning.h"

namespace plait {
namespace {

constexpr double kGigabyte = 1e9;
constexpr int kMaxRings = 32;
// Having found rings, the search tries no speed that is less than about half of theirs (search.cc).
constexpr double kSlowestTried = 0.49;

// Speeds that the search tries, GB/s (search.cc, by compute capability).
constexpr std::array<double, 11> kIntra80 = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5};
constexpr std::array<double, 12> kIntra90 = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3, 2};
constexpr std::array<double, 12> kIntra100 = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr std::array<double, 14> kInter80 = {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4};
constexpr std::array<double, 13> kInter90 = {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3};
constexpr std::array<double, 14> kInter100 = {96, 86, 80, 48, 45.1, 42, 40,
                                              30, 24, 22, 20, 17.5, 15, 12};

std::span<const double> intra_ladder(Generation generation) {
  if (generation == Generation::kBlackwell) return kIntra100;
  if (generation == Generation::kHopper) return kIntra90;
  return kIntra80;
}
std::span<const double> inter_ladder(Generation generation) {
  if (generation == Generation::kBlackwell) return kInter100;
  if (generation == Generation::kHopper) return kInter90;
  return kInter80;
}

// Largest step of the ladder not above `speed`; below the ladder, the speed itself.
double step_below(std::span<const double> ladder, double speed) {
  for (double step : ladder)
    if (step * kGigabyte <= speed) return step * kGigabyte;
  return speed;
}

Channels best_split(std::span<const double> ladder, double capacity) {
  Channels best{1, std::min(capacity, ladder.front() * kGigabyte)};
  bool on_ladder = false;
  for (double step : ladder) {
    if (on_ladder && step * kGigabyte <= kSlowestTried * best.speed) break;
    const int count = std::min(kMaxRings, static_cast<int>(capacity / (step * kGigabyte)));
    const Channels split{count, step * kGigabyte};
    if (count == 0 || (on_ladder && split.total() <= best.total())) continue;
    best = split;
    on_ladder = true;
  }
  return best;
}

// connect.cc: more channels hide latency, unless Hopper has enough slow ones already.
Channels duplicated(Channels c, Generation generation) {
  const bool late = generation == Generation::kHopper || generation == Generation::kBlackwell;
  if (c.speed < 25 * kGigabyte || (late && c.speed < 50 * kGigabyte && c.count > 4)) return c;
  return {2 * c.count, c.speed / 2};
}

/// What links within an island leave each ring over several of them. Over NVLink a member passes
/// all rings on but the one that leaves through its own NIC; over PCIe that one crosses the same
/// links.
double speed_inside(const NcclGroup& group) {
  if (group.per_node <= 1) return std::numeric_limits<double>::infinity();
  const bool nvlink = group.intra_link == LinkClass::kNvlink;
  return group.intra / (nvlink ? group.per_node - 1 : group.per_node);
}

}  // namespace

bool network_bounds(const NcclGroup& group) {
  return group.nodes > 1 && group.inter <= speed_inside(group);
}

Channels ring_channels(const NcclGroup& group, Speeds speeds) {
  if (group.nodes <= 1) {
    const Channels found =
        duplicated(best_split(intra_ladder(group.generation), group.intra), group.generation);
    return speeds == Speeds::kLadder ? found : Channels{found.count, group.intra / found.count};
  }
  // One ring per NIC that the group can use: every ring enters and leaves every island.
  const auto rings = std::max(1, static_cast<int>(group.fewest));
  double speed = std::min(group.inter, speed_inside(group));
  if (speeds == Speeds::kLadder) speed = step_below(inter_ladder(group.generation), speed);
  return duplicated({std::min(rings, kMaxRings), speed * rings / std::min(rings, kMaxRings)},
                    group.generation);
}

// NVLS: one channel per member at speed b with (n + 1) b within the links of a member.
Channels nvls_channels(const NcclGroup& group, Speeds speeds) {
  const double limit = group.intra / (group.per_node + 1);
  if (speeds == Speeds::kContinuous) return {static_cast<int>(group.per_node), limit};
  return {static_cast<int>(group.per_node), step_below(intra_ladder(group.generation), limit)};
}

int communicator_channels(const NcclGroup& group) {
  const int rings = ring_channels(group, Speeds::kLadder).count;
  return std::min(2 * rings, kMaxRings);
}

}  // namespace plait
