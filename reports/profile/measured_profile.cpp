#include "reports/profile/measured_profile.h"

#include <algorithm>

#include "reports/profile/kernel_names.h"

namespace plait {
namespace {

double seconds_of(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

/// What an event is. Metadata of c10d tells SendRecv kernels apart; it stands at casts and copies
/// that a collective begins with, too.
KernelName work_of(const KinetoTrace& trace, const TraceEvent& e,
                   const std::vector<KernelName>& names) {
  if (e.work == TraceWork::kMemcpy) return {.kind = kind_of_memcpy(trace.names[e.name])};
  if (e.work == TraceWork::kMemset) return {.kind = KernelKind::kElementwise};
  KernelName out = names[e.name];
  const bool may_be_sent = is_communication(out.kind) || out.kind == KernelKind::kUnknown;
  if (e.call < 0 || !may_be_sent) return out;
  const KernelKind told = kind_of_collective(trace.calls[static_cast<std::size_t>(e.call)].name);
  if (told != KernelKind::kOtherCommunication || !is_communication(out.kind)) out.kind = told;
  return out;
}

class MeasuredSteps {
 public:
  MeasuredSteps(const KinetoTrace& trace, const TraceSteps& steps) : trace_(trace), steps_(steps) {
    for (const std::string& name : trace.names) names_.push_back(kernel_name(name));
  }

  MeasuredProfile run() const {
    const std::size_t at = median_step(steps_);
    const DeviceStep& step = steps_.whole[at];
    MeasuredProfile out;
    out.step = account(spans_of(step), seconds_of(step.length_ns()));
    out.step.kernels = kernels_of(step);
    out.step.host_idle_s = std::min(host_idle(at), out.step.idle_s);
    for (const std::uint32_t i : step.events) out.step.softmax_calls += work(i).softmax ? 1 : 0;
    out.number = step.number;
    const auto each = static_cast<double>(steps_.as_many);
    out.step = divided(std::move(out.step), each);
    out.step.messages = messages().per_step(each * static_cast<double>(steps_.whole.size()));
    const auto [least, most] = std::ranges::minmax(steps_.whole, {}, &DeviceStep::length_ns);
    out.least_s = seconds_of(least.length_ns()) / each;
    out.most_s = seconds_of(most.length_ns()) / each;
    return out;
  }

 private:
  KernelName work(std::uint32_t event) const {
    return work_of(trace_, trace_.events[event], names_);
  }

  std::vector<ProfiledSpan> spans_of(const DeviceStep& step) const {
    constexpr SimTime kPicoseconds = 1000;  // of a nanosecond
    // A step of more than eleven days is none.
    const auto since = [&](std::int64_t ns) {
      constexpr std::int64_t kMost = 1'000'000'000'000'000;
      return std::clamp(ns - step.start_ns, -kMost, kMost) * kPicoseconds;
    };
    std::vector<ProfiledSpan> out;
    for (const std::uint32_t i : step.events) {
      const TraceEvent& e = trace_.events[i];
      const KernelName w = work(i);
      out.push_back({since(e.start_ns), since(e.end_ns), w.kind, w.part ? 0.0 : 1.0});
    }
    return out;
  }

  std::vector<KernelUse> kernels_of(const DeviceStep& step) const {
    std::vector<KernelUse> all(trace_.names.size());
    for (const std::uint32_t i : step.events) {
      const TraceEvent& e = trace_.events[i];
      KernelUse& use = all[e.name];
      use.kind = work(i).kind, use.calls += 1, use.time_s += seconds_of(e.end_ns - e.start_ns);
    }
    for (std::size_t n = 0; n < all.size(); ++n) all[n].name = trace_.names[n];
    std::erase_if(all, [](const KernelUse& k) { return k.calls == 0; });
    std::ranges::stable_sort(all, std::ranges::greater{}, &KernelUse::time_s);
    return all;
  }

  MessageSums messages() const {
    MessageSums out;
    for (const DeviceStep& step : steps_.whole) {
      for (const std::uint32_t i : step.events) {
        const TraceEvent& e = trace_.events[i];
        const KernelName w = work(i);
        if (!is_communication(w.kind) || w.part) continue;
        const TraceCall call =
            e.call < 0 ? TraceCall{} : trace_.calls[static_cast<std::size_t>(e.call)];
        const std::int64_t ranks = w.kind == KernelKind::kSendRecv ? 2 : call.ranks;
        out.add(w.kind, ranks, call.bytes(), seconds_of(e.end_ns - e.start_ns));
      }
    }
    return out;
  }

  /// Time in which the device had nothing to do because what it did next had not been launched.
  double host_idle(std::size_t at) const {
    const DeviceStep& step = steps_.whole[at];
    std::int64_t idle = 0, done = step.start_ns;
    const auto wait = [&](const TraceEvent& e) {
      const TraceLaunch* launch = launch_of(trace_, e);
      if (launch != nullptr && e.start_ns > done) {
        idle += std::clamp<std::int64_t>(launch->end_ns - done, 0, e.start_ns - done);
      }
      done = std::max(done, e.end_ns);
    };
    for (const std::uint32_t i : step.events) wait(trace_.events[i]);
    const bool next = step.followed && at + 1 < steps_.whole.size() &&
                      steps_.whole[at + 1].number == step.number + 1;
    if (next) wait(trace_.events[steps_.whole[at + 1].events.front()]);
    return seconds_of(idle);
  }

  const KinetoTrace& trace_;
  const TraceSteps& steps_;
  std::vector<KernelName> names_;  // of each of the trace's names
};

}  // namespace

MeasuredProfile measured_profile(const KinetoTrace& trace, const TraceSteps& steps) {
  return MeasuredSteps(trace, steps).run();
}

}  // namespace plait
