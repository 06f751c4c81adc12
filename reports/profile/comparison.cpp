#include "reports/profile/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "plan/places.h"
#include "reports/human.h"
#include "reports/profile/predicted_profile.h"
#include "reports/profile/readable_kernel.h"

namespace plait {
namespace {

/// Sizes that differ by padding are one message.
constexpr double kSameSize = 0.01;
/// Seconds that are rounding.
constexpr double kNothing = 1e-9;

std::vector<ProfileShare> shares_of(const StepProfile& measured, const StepProfile& predicted) {
  std::vector<ProfileShare> out;
  const auto add = [&](std::string_view name, double m, double p) {
    if (m > kNothing || p > kNothing) out.push_back({std::string(name), m, p});
  };
  for_each_kind([&](KernelKind k) {
    if (is_compute(k)) add(name_of(k), measured.kinds[k].share_s, predicted.kinds[k].share_s);
  });
  add("exposed_communication", measured.exposed_s, predicted.exposed_s);
  const KernelKind copy = KernelKind::kCopy;
  add(name_of(copy), measured.kinds[copy].share_s, predicted.kinds[copy].share_s);
  add("idle", measured.idle_s, predicted.idle_s);
  std::ranges::stable_sort(out, std::ranges::greater{},
                           [](const ProfileShare& s) { return std::abs(s.difference_s()); });
  return out;
}

bool same_message(const MessageUse& a, const MessageUse& b) {
  const auto larger = static_cast<double>(std::max(a.bytes, b.bytes));
  return a.kind == b.kind && a.ranks == b.ranks &&
         static_cast<double>(std::abs(a.bytes - b.bytes)) <= kSameSize * larger;
}

/// Of those that are the same message as `m`, the one nearest in size.
std::vector<MessageUse>::iterator nearest(const MessageUse& m, std::vector<MessageUse>& others) {
  auto best = others.end();
  for (auto o = others.begin(); o != others.end(); ++o) {
    if (!same_message(m, *o)) continue;
    if (best == others.end() || std::abs(o->bytes - m.bytes) < std::abs(best->bytes - m.bytes)) {
      best = o;
    }
  }
  return best;
}

std::vector<MatchedMessage> matched(const std::vector<MessageUse>& measured,
                                    std::vector<MessageUse> predicted) {
  std::vector<MatchedMessage> out;
  for (const MessageUse& m : measured) {
    const auto same = nearest(m, predicted);
    out.push_back({m, same == predicted.end() ? MessageUse{} : *same});
    if (same != predicted.end()) predicted.erase(same);
  }
  for (const MessageUse& p : predicted) out.push_back({{}, p});
  std::ranges::stable_sort(out, std::ranges::greater{}, [](const MatchedMessage& m) {
    return std::max(m.measured.time_s, m.predicted.time_s);
  });
  return out;
}

std::string gpu_of(const KinetoTrace& trace, std::int32_t device) {
  for (const KinetoTrace::Gpu& g : trace.gpus) {
    if (g.id == device) return g.name;
  }
  return trace.gpus.empty() ? "" : trace.gpus.front().name;
}

/// What most of a kind's time is spent in: kernels of one name, or where names do not tell those of
/// one operator. "" where none has half of it; of elementwise kernels, which have nothing to do
/// with one another, always the longest.
std::string main_part(const std::string& kind, const StepProfile& measured) {
  std::map<std::string, double> parts;
  double all = 0;
  for (const KernelUse& k : measured.kernels) {
    if (name_of(k.kind) != kind) continue;
    parts[k.launched_by.empty() ? bare_kernel(k.name) : k.launched_by] += k.time_s;
    all += k.time_s;
  }
  if (parts.empty()) return "";
  const auto longest = std::ranges::max_element(parts, {}, [](const auto& p) { return p.second; });
  if (longest->second >= 0.5 * all) return "most of it in " + longest->first;
  const bool mixed = kind == name_of(KernelKind::kElementwise);
  return mixed ? "the longest part " + longest->first : "";
}

constexpr std::string_view kTogether = "communication_and_idle_time";

/// The shares, with exposed communication and idle time as one where the one is longer and the
/// other shorter than predicted: what waits for a peer is idle as simulated, and within a kernel of
/// NCCL as measured.
std::vector<ProfileShare> told_shares(const ProfileComparison& c) {
  const auto find = [&](std::string_view name) {
    return std::ranges::find(c.shares, name, &ProfileShare::name);
  };
  const auto sent = find("exposed_communication"), idle = find("idle");
  if (sent == c.shares.end() || idle == c.shares.end()) return c.shares;
  if (sent->difference_s() * idle->difference_s() >= 0) return c.shares;
  std::vector<ProfileShare> out = {{std::string(kTogether), sent->measured_s + idle->measured_s,
                                    sent->predicted_s + idle->predicted_s}};
  for (auto s = c.shares.begin(); s != c.shares.end(); ++s) {
    if (s != sent && s != idle) out.push_back(*s);
  }
  std::ranges::stable_sort(out, std::ranges::greater{},
                           [](const ProfileShare& s) { return std::abs(s.difference_s()); });
  return out;
}

/// What a share of the verdict has to do with, in brackets; "" for nothing.
std::string reason_of(const ProfileShare& s, const ProfileComparison& c) {
  const StepProfile& m = c.measured.step;
  const double longer = s.measured_s - s.predicted_s;
  const bool waits = s.name == "idle" || s.name == kTogether;
  if (s.name == "unknown") return "no pattern knows these kernels";
  if (longer <= 0) return "";
  if (waits && m.host_idle_s > 0.5 * longer) return "the device waits for the host to launch";
  if (s.name == "attention" && m.softmax_calls > 0 && c.fused_attention) {
    return "softmax kernels run: attention is not fused";
  }
  if (s.name == "exposed_communication" || s.name == kTogether) {
    return "kernels of NCCL also wait for their peers";
  }
  if (s.name == name_of(KernelKind::kGradientSum) && s.predicted_s <= 0) {
    return "kernels of their own in the run, none in the scenario: kernels.gradient_sum";
  }
  return main_part(s.name, m);
}

/// "8.1 points in attention (why)".
std::string points_text(const ProfileShare& s, double points, const std::string& how,
                        const ProfileComparison& c) {
  const std::string reason = reason_of(s, c);
  return fmt::format("{:.1f} points {}in {}{}", points, how,
                     s.name == "idle" ? "idle time" : human_words(s.name),
                     reason.empty() ? "" : " (" + reason + ")");
}

}  // namespace

double step_difference(const ProfileComparison& c) {
  const double measured = c.measured.step.step_s;
  return measured > 0 ? c.predicted.step_s / measured - 1 : 0;
}

std::string profile_verdict(const ProfileComparison& c) {
  constexpr double kAgrees = 0.01, kTold = 0.005;  // of the measured step
  const double difference = step_difference(c);
  const bool agrees = std::abs(difference) < kAgrees;
  std::vector<std::string> with, against;
  for (const ProfileShare& s : told_shares(c)) {
    const double points = s.difference_s() / c.measured.step.step_s;
    if (std::abs(points) < kTold) continue;
    const std::string how = !agrees ? "" : points > 0 ? "too many " : "too few ";
    const bool same = agrees || (points < 0) == (difference < 0);
    (same ? with : against).push_back(points_text(s, 100 * std::abs(points), how, c));
  }
  std::string out =
      agrees ? "the prediction agrees with the run to 1 %"
             : fmt::format("the prediction is {} too {}", human_percent(std::abs(difference)),
                           difference < 0 ? "fast" : "slow");
  if (agrees && !with.empty()) out += ", with errors that cancel";
  if (!with.empty()) out += fmt::format(": {}", fmt::join(with, ", "));
  if (!against.empty()) out += fmt::format("; the other way {}", fmt::join(against, ", "));
  return out;
}

ProfileComparison compare_profile(const ProfileInputs& in) {
  ProfileComparison out;
  out.run = in.report.run, out.cluster = in.report.cluster, out.layout = in.report.layout;
  out.trace = in.trace.file, out.gpu = gpu_of(in.trace, in.steps.device);
  out.rank = in.rank, out.stage = in.track.stage, out.world_size = rank_count(in.plan);
  for (const DeviceStep& s : in.steps.whole) out.steps.push_back(s.number);
  out.left_out = in.steps.incomplete, out.as_many = in.steps.as_many;
  out.measured = measured_profile(in.trace, in.steps);
  out.predicted =
      predicted_profile(in.plan, in.track, in.kernels, in.report.step_time_s, in.cluster.device,
                        out.measured.by_operators ? KindsTold::kByOperators : KindsTold::kByNames);
  out.fused_attention = !has_unfused_attention(in.plan, in.track.stage);
  out.shares = shares_of(out.measured.step, out.predicted);
  out.messages = matched(out.measured.step.messages, out.predicted.messages);
  out.notes = profile_notes(in, out);
  return out;
}

}  // namespace plait
