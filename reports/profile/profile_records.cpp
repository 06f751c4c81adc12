#include <fmt/format.h>

#include "reports/csv.h"
#include "reports/json_tree.h"
#include "reports/profile/comparison.h"

namespace plait {
namespace {

using Tree = nlohmann::ordered_json;

Tree shares_tree(const ProfileComparison& c) {
  Tree out = Tree::array();
  for (const ProfileShare& s : c.shares) {
    out.push_back({{"share", s.name},
                   {"measured_s", s.measured_s},
                   {"predicted_s", s.predicted_s},
                   {"difference_of_step", s.difference_s() / c.measured.step.step_s}});
  }
  return out;
}

Tree kinds_tree(const ProfileComparison& c) {
  Tree out = Tree::array();
  for_each_kind([&](KernelKind k) {
    const KindUse &m = c.measured.step.kinds[k], &p = c.predicted.kinds[k];
    if (m.time_s <= 0 && p.time_s <= 0) return;
    Tree row = {{"kind", name_of(k)},
                {"measured_calls", m.calls},
                {"predicted_calls", p.calls},
                {"measured_s", m.time_s},
                {"predicted_s", p.time_s}};
    if (m.time_s > 0) row["ratio"] = p.time_s / m.time_s;
    out.push_back(std::move(row));
  });
  return out;
}

void add_side(Tree& row, const char* side, const MessageUse& m) {
  if (m.calls <= 0) return;
  Tree out = {
      {"calls", m.calls}, {"least_s", m.least_s}, {"median_s", m.median_s}, {"time_s", m.time_s}};
  if (const double best = m.busbw(m.least_s); best > 0) {
    out["best_busbw_Bps"] = best, out["median_busbw_Bps"] = m.busbw(m.median_s);
  }
  row[side] = std::move(out);
}

Tree messages_tree(const ProfileComparison& c) {
  Tree out = Tree::array();
  for (const MatchedMessage& m : c.messages) {
    Tree row = {{"kind", name_of(m.either().kind)}};
    if (m.either().ranks > 0) row["ranks"] = m.either().ranks;
    if (m.either().bytes > 0) row["bytes"] = m.either().bytes;
    add_side(row, "measured", m.measured);
    add_side(row, "predicted", m.predicted);
    out.push_back(std::move(row));
  }
  return out;
}

Tree kernels_tree(const ProfileComparison& c) {
  Tree out = Tree::array();
  for (const KernelUse& k : c.measured.step.kernels) {
    Tree row = {{"name", k.name}, {"kind", name_of(k.kind)}};
    if (!k.launched_by.empty()) row["operator"] = k.launched_by;
    row["calls"] = k.calls, row["time_s"] = k.time_s;
    out.push_back(std::move(row));
  }
  return out;
}

Tree trace_tree(const ProfileComparison& c) {
  Tree out = {{"file", c.trace}, {"device", c.gpu}, {"rank", c.rank}, {"stage", c.stage}};
  if (c.as_many > 1) {
    out["taken_as_steps"] = c.as_many;
  } else {
    out["steps"] = c.steps, out["steps_left_out"] = c.left_out;
    out["median_step"] = c.measured.number;
  }
  out["least_step_time_s"] = c.measured.least_s, out["most_step_time_s"] = c.measured.most_s;
  return out;
}

}  // namespace

std::string profile_json(const ProfileComparison& c) {
  const StepProfile &m = c.measured.step, &p = c.predicted;
  Tree tree = {{"scenario", c.run.scenario},
               {"scenario_sha256", c.run.scenario_sha256},
               {"version", c.run.version},
               {"command", c.run.command},
               {"layout", c.layout},
               {"cluster", c.cluster},
               {"trace", trace_tree(c)},
               {"measured_step_time_s", m.step_s},
               {"predicted_step_time_s", p.step_s},
               {"step_time_error", step_difference(c)},
               {"verdict", profile_verdict(c)},
               {"shares", shares_tree(c)},
               {"measured_host_idle_s", m.host_idle_s},
               {"measured_overlapped_communication_s", m.overlapped_s},
               {"predicted_overlapped_communication_s", p.overlapped_s},
               {"kinds", kinds_tree(c)},
               {"communication", messages_tree(c)},
               {"kernels", kernels_tree(c)},
               {"notes", c.notes}};
  return json_text(tree);
}

std::string profile_csv(const ProfileComparison& c) {
  std::string out = csv_row({"kind", "measured_calls", "predicted_calls", "measured_s",
                             "predicted_s", "measured_share_s", "predicted_share_s"});
  const auto number = [](double value) { return fmt::format("{}", value); };
  for_each_kind([&](KernelKind k) {
    const KindUse &m = c.measured.step.kinds[k], &p = c.predicted.kinds[k];
    if (m.time_s <= 0 && p.time_s <= 0) return;
    out += csv_row({std::string(name_of(k)), number(m.calls), number(p.calls), number(m.time_s),
                    number(p.time_s), number(m.share_s), number(p.share_s)});
  });
  return out;
}

}  // namespace plait
