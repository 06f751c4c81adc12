#include "reports/profile/step_profile.h"

#include <algorithm>
#include <array>
#include <set>

namespace plait {
namespace {

// In the order in which an instant belongs to them.
enum class SpanClass : std::uint8_t { kCompute, kCommunication, kCopy };

SpanClass class_of(KernelKind kind) {
  if (is_compute(kind)) return SpanClass::kCompute;
  return is_communication(kind) ? SpanClass::kCommunication : SpanClass::kCopy;
}

/// Walks over the instants at which a span begins or ends, with what is running between two of
/// them.
class SpanSweep {
 public:
  SpanSweep(const std::vector<ProfiledSpan>& spans, StepProfile& out) : spans_(spans), out_(out) {}

  void run() {
    struct Edge {
      SimTime time;
      bool begins;
      std::size_t span;
    };
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      if (spans_[i].end <= spans_[i].start) continue;
      edges.push_back({spans_[i].start, true, i});
      edges.push_back({spans_[i].end, false, i});
    }
    std::ranges::stable_sort(edges, {}, &Edge::time);
    SimTime now = 0;
    for (const Edge& e : edges) {
      pass(to_seconds(e.time - now).value);
      now = e.time;
      const ProfiledSpan& s = spans_[e.span];
      auto& running = running_[static_cast<std::size_t>(class_of(s.kind))];
      if (e.begins) {
        running.emplace(s.start, e.span);
      } else {
        running.erase({s.start, e.span});
      }
    }
  }

 private:
  void pass(double seconds) {
    const auto& [compute, communication, copies] = running_;
    if (!compute.empty() && !communication.empty()) out_.overlapped_s += seconds;
    if (compute.empty() && !communication.empty()) out_.exposed_s += seconds;
    for (const auto& running : running_) {
      if (running.empty()) continue;
      out_.kinds[spans_[running.begin()->second].kind].share_s += seconds;
      return;
    }
  }

  const std::vector<ProfiledSpan>& spans_;
  StepProfile& out_;
  std::array<std::set<std::pair<SimTime, std::size_t>>, 3> running_;
};

}  // namespace

double MessageUse::busbw(double seconds) const {
  if (bytes == 0 || ranks == 0 || seconds <= 0) return 0;
  return static_cast<double>(bytes) / seconds * bus_share(kind, ranks);
}

double StepProfile::compute_share_s() const {
  double out = 0;
  for_each_kind([&](KernelKind k) { out += is_compute(k) ? kinds[k].share_s : 0; });
  return out;
}

StepProfile account(const std::vector<ProfiledSpan>& spans, double step_s) {
  StepProfile out;
  out.step_s = step_s;
  for (const ProfiledSpan& s : spans) {
    KindUse& use = out.kinds[s.kind];
    use.calls += s.calls;
    use.time_s += to_seconds(s.end - s.start).value;
  }
  SpanSweep(spans, out).run();
  double busy = 0;
  for_each_kind([&](KernelKind k) { busy += out.kinds[k].share_s; });
  out.idle_s = std::max(0.0, step_s - busy);
  return out;
}

void MessageSums::add(KernelKind kind, std::int64_t ranks, std::int64_t bytes, double seconds) {
  seconds_[{kind, ranks, bytes}].push_back(seconds);
}

std::vector<MessageUse> MessageSums::per_step(double steps) const {
  std::vector<MessageUse> out;
  for (const auto& [key, unordered] : seconds_) {
    std::vector<double> seconds = unordered;
    std::ranges::sort(seconds);
    MessageUse use;
    std::tie(use.kind, use.ranks, use.bytes) = key;
    use.calls = static_cast<double>(seconds.size()) / steps;
    for (const double s : seconds) use.time_s += s / steps;
    use.least_s = seconds.front();
    use.median_s = seconds[(seconds.size() - 1) / 2];
    out.push_back(use);
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &MessageUse::time_s);
  return out;
}

StepProfile divided(StepProfile p, double steps) {
  if (steps == 1) return p;
  for (KindUse& use : p.kinds.values) {
    use.calls /= steps, use.time_s /= steps, use.share_s /= steps;
  }
  for (KernelUse& use : p.kernels) use.calls /= steps, use.time_s /= steps;
  for (double* time :
       {&p.step_s, &p.exposed_s, &p.overlapped_s, &p.idle_s, &p.host_idle_s, &p.softmax_calls}) {
    *time /= steps;
  }
  return p;
}

}  // namespace plait
