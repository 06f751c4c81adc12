#include "reports/profile/measured_profile.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "reports/profile/kernel_names.h"
#include "reports/profile/kernel_origins.h"

namespace plait {
namespace {

double seconds_of(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

KernelName name_of_event(const KinetoTrace& trace, const TraceEvent& e,
                         const std::vector<KernelName>& names) {
  if (e.work == TraceWork::kMemcpy) return {.kind = kind_of_memcpy(trace.names[e.name])};
  if (e.work == TraceWork::kMemset) return {.kind = KernelKind::kElementwise};
  return names[e.name];
}

/// Whether the name of a kernel leaves open what it is for.
bool is_open(KernelKind kind) {
  return kind == KernelKind::kElementwise || kind == KernelKind::kUnknown;
}

/// What an event is. Where its name does not tell its operator does. Metadata of c10d tells
/// SendRecv kernels apart; it stands at casts and copies that a collective begins with, too.
KernelName work_of(const KinetoTrace& trace, const TraceEvent& e, const KernelOrigin& origin,
                   const std::vector<KernelName>& names) {
  KernelName out = name_of_event(trace, e, names);
  if (is_open(out.kind) && origin.kind != KernelKind::kUnknown) {
    const bool unknown = out.kind == KernelKind::kUnknown;
    out.kind = origin.kind;
    out.part = !unknown && (out.kind == KernelKind::kMatMul || out.kind == KernelKind::kAttention);
    return out;
  }
  const bool may_be_sent = is_communication(out.kind) || out.kind == KernelKind::kUnknown;
  if (e.call < 0 || !may_be_sent) return out;
  const KernelKind told = kind_of_collective(trace.calls[static_cast<std::size_t>(e.call)].name);
  if (told != KernelKind::kOtherCommunication || !is_communication(out.kind)) out.kind = told;
  return out;
}

class MeasuredSteps {
 public:
  MeasuredSteps(const KinetoTrace& trace, const TraceSteps& steps)
      : trace_(trace), steps_(steps), origins_(origins_of(trace)) {
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
    out.by_operators = by_operators(step);
    out.least_s = seconds_of(least.length_ns()) / each;
    out.most_s = seconds_of(most.length_ns()) / each;
    return out;
  }

 private:
  KernelName work(std::uint32_t event) const {
    return work_of(trace_, trace_.events[event], origins_.of_event[event], names_);
  }
  /// The operator of an event whose name does not tell; -1 for others.
  std::int32_t label(std::uint32_t event) const {
    const TraceEvent& e = trace_.events[event];
    return is_open(name_of_event(trace_, e, names_).kind) ? origins_.of_event[event].label : -1;
  }

  /// TorchInductor's kernels fuse operators: none stands for them.
  bool by_operators(const DeviceStep& step) const {
    std::int64_t open = 0, told = 0;
    for (const std::uint32_t i : step.events) {
      const TraceEvent& e = trace_.events[i];
      if (e.work != TraceWork::kKernel || !is_open(names_[e.name].kind)) continue;
      open += e.end_ns - e.start_ns;
      const bool fused = trace_.names[e.name].starts_with("triton_");
      told += label(i) >= 0 && !fused ? e.end_ns - e.start_ns : 0;
    }
    return open > 0 && 2 * told >= open;
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
    std::map<std::tuple<std::uint32_t, std::int32_t, KernelKind>, KernelUse> uses;
    for (const std::uint32_t i : step.events) {
      const TraceEvent& e = trace_.events[i];
      const KernelKind kind = work(i).kind;
      KernelUse& use = uses[{e.name, label(i), kind}];
      use.kind = kind, use.calls += 1, use.time_s += seconds_of(e.end_ns - e.start_ns);
    }
    std::vector<KernelUse> all;
    for (auto& [key, use] : uses) {
      const std::int32_t by = std::get<1>(key);
      use.name = trace_.names[std::get<0>(key)];
      if (by >= 0) use.launched_by = origins_.labels[static_cast<std::size_t>(by)];
      all.push_back(std::move(use));
    }
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
  const KernelOrigins origins_;
  std::vector<KernelName> names_;  // of each of the trace's names
};

}  // namespace

MeasuredProfile measured_profile(const KinetoTrace& trace, const TraceSteps& steps) {
  return MeasuredSteps(trace, steps).run();
}

}  // namespace plait
