#include "reports/profile/trace_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"

namespace plait {
namespace {

/// A step with fewer of the device's events than this share of what the median step has was cut
/// off by the profiler's beginning or end.
constexpr double kWholeStep = 0.9;

[[noreturn]] void refuse_steps(const KinetoTrace& trace, const std::string& problem) {
  throw InputError({.code = "K013",
                    .problem = problem,
                    .where = {trace.file, 0, 0, ""},
                    .expected = "one or more whole steps, annotated ProfilerStep#N",
                    .cure = "profile with torch.profiler.schedule(...) and call prof.step() behind "
                            "each step, or say how many steps the trace is with --steps N"});
}

/// The device whose events take most time, and how many others have some.
std::pair<std::int32_t, std::int64_t> busiest_device(const KinetoTrace& trace) {
  std::map<std::int32_t, std::int64_t> busy;
  for (const TraceEvent& e : trace.events) busy[e.device] += e.end_ns - e.start_ns;
  const auto most = std::ranges::max_element(
      busy, {}, [](const std::pair<const std::int32_t, std::int64_t>& d) { return d.second; });
  return {most->first, static_cast<std::int64_t>(busy.size()) - 1};
}

/// Index of the step that `time` is in, or -1.
std::ptrdiff_t step_at(const std::vector<TraceStep>& steps, std::int64_t time) {
  const auto after = std::ranges::upper_bound(steps, time, {}, &TraceStep::start_ns);
  if (after == steps.begin() || time >= (after - 1)->end_ns) return -1;
  return after - 1 - steps.begin();
}

/// Steps by their start, each but the last ending where the next begins: what the host does between
/// two annotations belongs to the one before.
std::vector<TraceStep> host_steps(const KinetoTrace& trace) {
  std::vector<TraceStep> out = trace.steps.empty() ? trace.device_steps : trace.steps;
  std::ranges::sort(out, {}, &TraceStep::start_ns);
  for (std::size_t i = 0; i + 1 < out.size(); ++i) {
    if (out[i + 1].number == out[i].number + 1) out[i].end_ns = out[i + 1].start_ns;
  }
  return out;
}

/// By launch; without one by the step's projection on the device, or by the host's time.
std::ptrdiff_t step_of_event(const KinetoTrace& trace, const std::vector<TraceStep>& steps,
                             const TraceEvent& event) {
  if (const TraceLaunch* launch = launch_of(trace, event)) return step_at(steps, launch->start_ns);
  const std::ptrdiff_t projected = step_at(trace.device_steps, event.start_ns);
  if (projected < 0) return trace.device_steps.empty() ? step_at(steps, event.start_ns) : -1;
  const std::int64_t number = trace.device_steps[static_cast<std::size_t>(projected)].number;
  const auto same = std::ranges::find(steps, number, &TraceStep::number);
  return same == steps.end() ? -1 : same - steps.begin();
}

std::vector<DeviceStep> all_steps(const KinetoTrace& trace, TraceSteps& out) {
  const std::vector<TraceStep> steps = host_steps(trace);
  if (steps.empty()) refuse_steps(trace, "the trace has no steps");
  std::vector<DeviceStep> all(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) all[i].number = steps[i].number;
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].device != out.device) continue;
    const std::ptrdiff_t at = step_of_event(trace, steps, trace.events[i]);
    if (at < 0) {
      ++out.outside;
    } else {
      all[static_cast<std::size_t>(at)].events.push_back(i);
    }
  }
  return all;
}

/// Events by start, and when the step begins and, so far, ends.
void measure(const KinetoTrace& trace, DeviceStep& step) {
  std::ranges::stable_sort(step.events, {},
                           [&](std::uint32_t i) { return trace.events[i].start_ns; });
  step.start_ns = trace.events[step.events.front()].start_ns;
  step.end_ns = step.start_ns;
  for (const std::uint32_t i : step.events) {
    step.end_ns = std::max(step.end_ns, trace.events[i].end_ns);
  }
}

void set_ends(const KinetoTrace& trace, std::vector<DeviceStep>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    DeviceStep& step = all[i];
    const bool next =
        i + 1 < all.size() && !all[i + 1].events.empty() && all[i + 1].number == step.number + 1;
    if (next && all[i + 1].start_ns > step.start_ns) {
      step.end_ns = all[i + 1].start_ns, step.followed = true;
      continue;
    }
    const auto host = std::ranges::find(trace.steps, step.number, &TraceStep::number);
    if (host == trace.steps.end()) continue;
    step.end_ns = std::max(step.end_ns, step.start_ns + host->end_ns - host->start_ns);
  }
}

double median_count(const std::vector<DeviceStep>& all) {
  std::vector<std::size_t> counts;
  for (const DeviceStep& s : all) {
    if (!s.events.empty()) counts.push_back(s.events.size());
  }
  if (counts.empty()) return 0;
  std::ranges::sort(counts);
  return static_cast<double>(counts[counts.size() / 2]);
}

TraceSteps one_of_many(const KinetoTrace& trace, TraceSteps out, std::int64_t as_many) {
  DeviceStep& all = out.whole.emplace_back();
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].device == out.device) all.events.push_back(i);
  }
  measure(trace, all);
  if (all.length_ns() <= 0) refuse_steps(trace, "the kernels of the trace take no time");
  out.as_many = as_many;
  return out;
}

}  // namespace

const TraceLaunch* launch_of(const KinetoTrace& trace, const TraceEvent& event) {
  if (event.correlation < 0) return nullptr;
  const auto found =
      std::ranges::lower_bound(trace.launches, event.correlation, {}, &TraceLaunch::correlation);
  const bool same = found != trace.launches.end() && found->correlation == event.correlation;
  return same ? &*found : nullptr;
}

TraceSteps steps_of(const KinetoTrace& trace, std::optional<std::int64_t> as_many) {
  TraceSteps out;
  std::tie(out.device, out.other_devices) = busiest_device(trace);
  if (as_many) return one_of_many(trace, std::move(out), *as_many);
  out.as_many = 1;
  std::vector<DeviceStep> all = all_steps(trace, out);
  const double enough = kWholeStep * median_count(all);
  for (DeviceStep& step : all) {
    if (!step.events.empty()) measure(trace, step);
  }
  set_ends(trace, all);
  for (DeviceStep& step : all) {
    const bool few = static_cast<double>(step.events.size()) < enough;
    if (step.events.empty() || few || step.length_ns() <= 0) {
      out.incomplete.push_back(step.number);
    } else {
      out.whole.push_back(std::move(step));
    }
  }
  if (out.whole.empty()) refuse_steps(trace, "no kernel of the trace was launched within a step");
  return out;
}

std::size_t median_step(const TraceSteps& steps) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < steps.whole.size(); ++i) {
    if (steps.whole[i].followed || steps.whole.size() == 1) order.push_back(i);
  }
  if (order.empty()) order.push_back(0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return steps.whole[i].length_ns(); });
  return order[(order.size() - 1) / 2];
}

}  // namespace plait
