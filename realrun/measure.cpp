#include "realrun/measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/median.h"
#include "plan/places.h"
#include "realrun/compute/host_device.h"
#include "realrun/pack.h"

namespace plait {
namespace {

constexpr SimTime kPicosecondsPerNs = 1000;

std::vector<std::byte> packed(const RankRecord& record) {
  Packer out;
  out.put(record.rank);
  out.put(record.planned_peak), out.put(record.held_peak), out.put(record.in_flight_peak);
  out.put(record.steps.size());
  for (const std::vector<OpTime>& step : record.steps) out.put(step);
  return out.bytes();
}

RankRecord unpacked(const std::vector<std::byte>& bytes) {
  Unpacker in(bytes);
  RankRecord out;
  std::size_t steps = 0;
  in.take(out.rank);
  in.take(out.planned_peak), in.take(out.held_peak), in.take(out.in_flight_peak);
  in.take(steps);
  out.steps.resize(steps);
  for (std::vector<OpTime>& step : out.steps) in.take(step);
  return out;
}

/// When the last op of any rank ended.
std::int64_t end_ns(const std::vector<RankRecord>& ranks, std::size_t repeat) {
  std::int64_t end = 0;
  for (const RankRecord& r : ranks) {
    for (const OpTime& t : r.steps[repeat]) end = std::max(end, t.end_ns);
  }
  return end;
}

Timeline timeline_of(const Plan& plan, const std::vector<RankRecord>& ranks, std::size_t repeat) {
  Timeline out;
  out.step_time = end_ns(ranks, repeat) * kPicosecondsPerNs;
  for (const RankRecord& r : ranks) {
    Track track;
    track.rank = r.rank;
    track.stage = stage_of_rank(plan, r.rank);
    for (const OpTime& t : r.steps[repeat]) {
      track.start.push_back(t.start_ns * kPicosecondsPerNs);
      track.end.push_back(t.end_ns * kPicosecondsPerNs);
    }
    out.tracks.push_back(std::move(track));
  }
  return out;
}

Measurement summary(const Plan& plan, std::vector<RankRecord> ranks) {
  Measurement out;
  for (std::size_t i = 0; i < ranks.front().steps.size(); ++i) {
    out.step_s.push_back(static_cast<double>(end_ns(ranks, i)) * 1e-9);
  }
  const double middle = median(out.step_s);
  const auto nearest = std::ranges::min_element(
      out.step_s, {}, [&](double time) { return std::abs(time - middle); });
  out.median_step = static_cast<std::size_t>(nearest - out.step_s.begin());
  out.timeline = timeline_of(plan, ranks, out.median_step);
  out.ranks = std::move(ranks);
  return out;
}

}  // namespace

std::optional<Measurement> measure(const Plan& whole, const Model& model, Transport& transport,
                                   const MeasureOptions& options) {
  PLAIT_CHECK(options.repeats > 0, "a measurement without repeats");
  const std::int64_t rank = transport.rank();
  const Plan plan = seen_from(whole, stage_of_rank(whole, rank));
  const auto stage = static_cast<std::size_t>(stage_of_rank(plan, rank));
  WalkOptions walk{.patience_s = options.patience_s,
                   .library_collectives = options.library_collectives};
  constexpr std::int64_t kRepeat = 1 << 16;  // a GPU's weights are too many to draw each
  if (options.device) walk.weights_repeat = kRepeat;
  if (!options.timed_compute_s.empty()) walk.timed_compute_s = options.timed_compute_s.at(stage);
  Walker walker(plan, model, transport, options.device ? options.device : host_device<float>(),
                walk);
  Control control(transport, options.patience_s);
  RankRecord record;
  record.rank = rank;
  for (std::int64_t i = 0; i < options.warmup + options.repeats; ++i) {
    const std::int64_t start = control.common_start();
    walker.step();
    if (i >= options.warmup) {
      std::vector<OpTime>& step = record.steps.emplace_back();
      for (std::size_t op = 0; op < walker.ops(); ++op) {
        OpTime time = walker.time(static_cast<std::int64_t>(op));
        if (time.start_ns == 0) time.start_ns = time.end_ns = start;  // other ranks' work
        time.start_ns -= start, time.end_ns -= start;
        step.push_back(time);
      }
    }
    if (rank == 0 && options.progress) options.progress(i + 1, options.warmup + options.repeats);
  }
  record.planned_peak = live_memory(plan, stage, false, Place::kDevice, walker.rank().role).peak;
  record.held_peak = walker.device().peak();
  record.in_flight_peak = walker.device().in_flight_peak();
  const auto all = control.gather(packed(record));
  if (rank != 0) return std::nullopt;
  std::vector<RankRecord> ranks;
  for (const std::vector<std::byte>& bytes : all) ranks.push_back(unpacked(bytes));
  return summary(plan, std::move(ranks));
}

Interval median_interval(std::vector<double> values) {
  PLAIT_CHECK(!values.empty(), "the median of nothing");
  std::ranges::sort(values);
  // The k-th smallest and largest of n enclose the median unless fewer than k values lie on one
  // side: probability 2 P(Binomial(n, 1/2) < k).
  const auto n = values.size();
  std::size_t k = 0;
  double ways = 1, below = 0;
  const double all = std::pow(2.0, static_cast<double>(n));
  while (2 * (below + ways) / all <= 0.05) {
    below += ways;
    ++k;
    ways = ways * static_cast<double>(n - k + 1) / static_cast<double>(k);
  }
  const std::size_t from = k == 0 ? 0 : k - 1;
  return {values[from], values[n - 1 - from]};
}

}  // namespace plait
