#include "reports/residuals.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "plan/walk.h"

namespace plait {
namespace {

// Shorter ops are not compared one by one: clocks and scheduling are no finer.
constexpr double kShortest = 2e-6;  // seconds

}  // namespace

std::string residual_class(const Op& op) {
  std::string name(name_of(op));
  if (const auto* c = std::get_if<Collective>(&op.body)) return name + " over " + name_of(c->axes);
  if (const auto* s = std::get_if<Send>(&op.body)) {
    return name + " over " + std::string(name_of(s->axis));
  }
  if (const auto* r = std::get_if<Recv>(&op.body)) {
    return name + " over " + std::string(name_of(r->axis));
  }
  return name;
}

std::vector<ClassResidual> residuals(const Plan& plan, const Timeline& predicted,
                                     const Timeline& measured) {
  PLAIT_CHECK(predicted.tracks.size() == measured.tracks.size(),
              "a measured rank without prediction");
  std::map<std::string, ClassResidual> by_name;
  std::map<std::string, std::int64_t> compared;
  for (std::size_t t = 0; t < measured.tracks.size(); ++t) {
    const Track &track = predicted.tracks[t], &ran = measured.tracks[t];
    for_each_op(plan, static_cast<std::size_t>(track.stage),
                [&](std::int64_t flat, const Call&, const Op& op) {
                  const auto i = static_cast<std::size_t>(flat);
                  const std::string name = residual_class(op);
                  ClassResidual& r = by_name[name];
                  const double took = to_seconds(ran.end[i] - ran.start[i]).value;
                  const double expected = to_seconds(track.end[i] - track.start[i]).value;
                  ++r.ops, r.measured_s += took, r.predicted_s += expected;
                  if (took < kShortest || expected < kShortest) return;
                  const double sum = r.mean_log_error.value_or(0);
                  r.mean_log_error = sum + std::abs(std::log(expected / took));
                  ++compared[name];
                });
  }
  std::vector<ClassResidual> out;
  const auto tracks = static_cast<double>(measured.tracks.size());
  for (auto& [name, r] : by_name) {
    r.name = name;
    r.measured_s /= tracks, r.predicted_s /= tracks;
    if (r.mean_log_error) *r.mean_log_error /= static_cast<double>(compared[name]);
    out.push_back(r);
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &ClassResidual::measured_s);
  return out;
}

}  // namespace plait
