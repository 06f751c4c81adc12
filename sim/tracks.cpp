#include "sim/tracks.h"

#include <algorithm>

namespace plait {
namespace {
constexpr std::size_t kMostSpans = 1U << 22;  // recorded at most: 64 MiB
}

std::vector<Track> empty_tracks(const Plan& plan, const Lanes& lanes) {
  const auto per_lane = static_cast<std::size_t>(op_count(plan) / plan.ranks_per_stage());
  const std::size_t recorded =
      std::min(lanes.count(), std::max<std::size_t>(1, kMostSpans / (per_lane + 1)));
  std::vector<Track> out;
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    const auto spans = static_cast<std::size_t>(op_count(plan, s));
    for (std::size_t l = 0; l < recorded; ++l) {
      Track t;
      t.stage = static_cast<std::int64_t>(s);
      t.rank = t.stage * plan.ranks_per_stage() + lanes.representative[l];
      t.multiplicity = lanes.multiplicity[l];
      t.start.resize(spans), t.end.resize(spans);
      out.push_back(std::move(t));
    }
  }
  return out;
}

}  // namespace plait
