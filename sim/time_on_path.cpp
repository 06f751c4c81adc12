#include "sim/time_on_path.h"

#include <algorithm>
#include <array>
#include <string>

#include "sim/slowed.h"

namespace plait {

void TimeOnPath::repeat_from(std::size_t first, std::int64_t times) {
  for (std::size_t i = first; i < parts_.size(); ++i) parts_[i].times += times;
}

SimTime TimeOnPath::total(const PlaceInTrack& kind) const {
  SimTime out = 0;
  for (const Part& part : parts_) out += part.op == kind ? part.whole() : 0;
  return out;
}

std::vector<Share> TimeOnPath::shares() const {
  std::vector<SimTime> sum(step_.labels(), 0);
  for (const Part& part : parts_) {
    if (!part.of_op()) continue;
    sum[step_.label(step_.stage_of(part.op.track), part.op.flat)] += part.whole();
  }
  sum[step_.waits().host] = total(kHost);
  sum[step_.waits().bubble] = total(kWait);
  std::vector<Seconds> time;
  for (const SimTime t : sum) time.push_back(to_seconds(t));
  return step_.shares(time);
}

/// What a kernel takes longer than alone is its collective's: it grows with the time for which that
/// holds multiprocessors.
std::vector<SimTime> TimeOnPath::by_op() const {
  const Durations& durations = *step_.simulation().durations;
  const Slowed slowed(step_);
  std::vector<SimTime> out(step_.tracks().size() * durations.ops(), 0);
  for (const Part& part : parts_) {
    if (!part.of_op()) continue;
    const auto [track, flat] = part.op;
    const std::size_t s = step_.stage_of(track), op = step_.op_id(s, flat);
    const std::uint32_t slowed_by = slowed.by(track, flat);
    SimTime own = part.time;
    if (slowed_by != kNoCause) {
      own = std::min(own, durations.row(s, op).at(step_.lane_of(track)));
      out[track * durations.ops() + step_.op_id(s, slowed_by)] += part.times * (part.time - own);
    }
    out[track * durations.ops() + op] += part.times * own;
  }
  return out;
}

std::vector<Sensitivity> TimeOnPath::sensitivity() const {
  const Durations& durations = *step_.simulation().durations;
  const std::vector<SimTime> times = by_op();
  std::array<Seconds, kResources> resources = {};
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] == 0) continue;
    const std::size_t track = i / durations.ops();
    const Cost& cost =
        durations.cost(step_.stage_of(track), step_.lane_of(track), i % durations.ops());
    const double total = cost.total().value;
    if (total <= 0) continue;
    const double scale = to_seconds(times[i]).value / total;
    for (std::size_t r = 0; r < resources.size(); ++r) resources[r] += cost.share[r] * scale;
  }
  resources[kHostIssue] += to_seconds(total(kHost));
  std::vector<Sensitivity> out;
  for (int r = 0; r < kResources; ++r) {
    const Seconds time = resources[static_cast<std::size_t>(r)];
    if (time.value > 0) out.push_back({std::string(resource_name(static_cast<Resource>(r))), time});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Sensitivity& a, const Sensitivity& b) { return a.time > b.time; });
  return out;
}

}  // namespace plait
