#include "reports/memory_curve.h"

#include <algorithm>

#include "plan/places.h"
#include "plan/walk.h"

namespace plait {
namespace {

/// For every point of the curve, when it shows.
std::vector<SimTime> times_of(const std::vector<MemoryPoint>& curve, const Plan& plan,
                              const Track& track, SimTime end) {
  std::vector<SimTime> times;
  std::size_t next = 0;
  for_each_op(plan, static_cast<std::size_t>(track.stage),
              [&](std::int64_t flat, const Call&, const Op& op) {
                if (op.stream != Stream::kCompute) return;
                for (; next < curve.size() && curve[next].op <= flat; ++next) {
                  times.push_back(track.start[static_cast<std::size_t>(flat)]);
                }
              });
  times.resize(curve.size(), end);
  return times;
}

/// Of each run of samples that `together` puts into one, the fullest.
template <class Together>
std::vector<MemorySample> fullest_of_runs(const std::vector<MemorySample>& samples,
                                          Together&& together) {
  std::vector<MemorySample> out;
  for (std::size_t i = 0; i < samples.size();) {
    std::size_t fullest = i;
    const std::size_t first = i;
    for (; i < samples.size() && together(samples[first], samples[i]); ++i) {
      if (samples[i].sum() > samples[fullest].sum()) fullest = i;
    }
    out.push_back(samples[fullest]);
    out.back().time = samples[first].time;
  }
  return out;
}

Bytes sum_of(const BytesByClass& live) {
  Bytes sum;
  for (const Bytes b : live) sum += b;
  return sum;
}

/// Overheads less those that stand beside tensors or ops: what is always there.
Bytes always_there(const RankMemory& memory) {
  const auto filled = [](const MemoryPoint& p) { return sum_of(p.live) + p.beside; };
  const auto fullest = std::ranges::max_element(memory.curve, {}, filled);
  Bytes out;
  for (const MemoryItem& item : memory.overheads) out += item.bytes;
  return fullest == memory.curve.end() ? out : out - fullest->beside;
}

}  // namespace

Bytes MemorySample::sum() const { return sum_of(live) + overheads; }

std::optional<RankMemory> memory_of_rank(const Plan& plan, const StageUse& use, const Track& track,
                                         const std::vector<std::string>& devices) {
  const std::int64_t known = rank_at(plan, track.stage * plan.places_per_stage() + use.position);
  const auto device = [&devices](std::int64_t rank) {
    return devices.empty() ? std::string() : devices[static_cast<std::size_t>(rank)];
  };
  if (device(track.rank) != device(known)) return std::nullopt;
  if (use.roles.empty()) return RankMemory{use.live.curve, use.overheads};
  const auto role = std::ranges::find(use.roles, role_of(plan, track.rank), &RoleUse::role);
  if (role == use.roles.end()) return std::nullopt;
  return RankMemory{role->curve, role->overheads};
}

std::vector<MemorySample> memory_over_time(const RankMemory& memory, const Plan& plan,
                                           const Track& track, SimTime end) {
  const std::vector<MemoryPoint>& curve = memory.curve;
  const std::vector<SimTime> times = times_of(curve, plan, track, end);
  const Bytes always = always_there(memory);
  std::vector<MemorySample> all;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    all.push_back({times[i], curve[i].live, std::max(Bytes(), always + curve[i].beside)});
  }
  return fullest_of_runs(all, [](const auto& a, const auto& b) { return a.time == b.time; });
}

std::vector<MemorySample> thinned(const std::vector<MemorySample>& samples, std::size_t most) {
  if (samples.size() <= most) return samples;
  const SimTime slot = samples.back().time / static_cast<SimTime>(most) + 1;
  return fullest_of_runs(
      samples, [&](const auto& a, const auto& b) { return a.time / slot == b.time / slot; });
}

}  // namespace plait
