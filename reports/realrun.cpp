#include "reports/realrun.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/csv.h"
#include "reports/human.h"
#include "reports/json_tree.h"

namespace plait {
namespace {

double change(double predicted, double measured) {
  return measured > 0 ? predicted / measured - 1 : 0;
}

std::string class_lines(const RealrunReport& r) {
  std::size_t width = 5;
  for (const ClassResidual& c : r.classes) width = std::max(width, c.name.size());
  const bool predicted = r.predicted_step_s.has_value();
  std::string out = fmt::format("{:<{}}  {:>6}  {:>9}", "op", width, "ops", "measured");
  out += predicted ? fmt::format("  {:>9}  {:>10}  {:>6}\n", "predicted", "difference", "per op")
                   : "\n";
  for (const ClassResidual& c : r.classes) {
    out += fmt::format("{:<{}}  {:>6}  {:>9}", c.name, width, c.ops, human_time(c.measured_s));
    out += predicted ? fmt::format("  {:>9}  {:>10}  {:>6}\n", human_time(c.predicted_s),
                                   human_change(change(c.predicted_s, c.measured_s)),
                                   c.mean_log_error ? human_percent(*c.mean_log_error) : "-")
                     : "\n";
  }
  return out;
}

std::string memory_lines(const RealrunReport& r) {
  std::string out;
  const bool as_planned =
      std::ranges::all_of(r.memory, [](const auto& m) { return m.planned == m.held; });
  const auto fullest =
      std::ranges::max_element(r.memory, {}, [](const RealrunMemory& m) { return m.held.value; });
  out += fmt::format("memory   {}; {} on rank {}, {} with what was in flight\n",
                     as_planned ? "as planned on every rank, to the byte" : "NOT AS PLANNED",
                     human_bytes(fullest->held.value), fullest->rank,
                     human_bytes(fullest->in_flight.value));
  for (const RealrunMemory& m : r.memory) {
    if (m.planned == m.held) continue;
    out += fmt::format("         rank {} held {} B, planned {} B\n", m.rank, m.held.value,
                       m.planned.value);
  }
  return out;
}

/// With fewer than six values no interval holds the median with 95 % probability.
bool has_interval(const RealrunReport& r) { return r.step_s.size() >= 6; }

}  // namespace

std::optional<double> step_error(const RealrunReport& r) {
  if (!r.predicted_step_s) return std::nullopt;
  return change(*r.predicted_step_s, r.step_median_s);
}

std::string to_text(const RealrunReport& r) {
  std::string out = fmt::format("{}  {} on {} ranks over {}, {} kernels, numbers {}{}\n\n",
                                r.run.scenario, r.layout, r.ranks, r.transport, r.kernels,
                                r.numbers, r.links.empty() ? "" : ", " + r.links);
  out += fmt::format("step     {}  median of {}, {} {} to {}\n", human_time(r.step_median_s),
                     r.step_s.size(), has_interval(r) ? "95 % confidence:" : "all within",
                     human_time(r.step_low_s), human_time(r.step_high_s));
  if (r.predicted_step_s) {
    out += fmt::format("predicted {}  {}  by {}\n", human_time(*r.predicted_step_s),
                       human_change(*step_error(r)), r.calibration);
  } else {
    out += "no prediction: name a calibration of this machine with --calibration FILE\n";
  }
  out += fmt::format("compute  {} of processor time a rank; {} involuntary switches\n",
                     human_time(r.compute_cpu_s), r.switches);
  out += memory_lines(r);
  out += fmt::format("machine  {}\n\n", r.quietness);
  return out + class_lines(r);
}

std::string to_json(const RealrunReport& r) {
  nlohmann::ordered_json tree;
  tree["scenario"] = r.run.scenario;
  tree["scenario_sha256"] = r.run.scenario_sha256;
  tree["version"] = r.run.version;
  tree["command"] = r.run.command;
  tree["layout"] = r.layout;
  tree["ranks"] = r.ranks;
  tree["transport"] = r.transport;
  tree["kernels"] = r.kernels;
  tree["numbers"] = r.numbers;
  tree["links"] = r.links;
  tree["steps_s"] = r.step_s;
  tree["step_time_s"] = r.step_median_s;
  if (has_interval(r))
    tree["step_time_low_s"] = r.step_low_s, tree["step_time_high_s"] = r.step_high_s;
  tree["compute_cpu_s"] = r.compute_cpu_s;
  tree["involuntary_switches"] = r.switches;
  if (r.predicted_step_s) {
    tree["predicted_step_time_s"] = *r.predicted_step_s;
    tree["step_time_error"] = *step_error(r);
    tree["calibration"] = r.calibration;
  }
  tree["quietness"] = r.quietness;
  for (const ClassResidual& c : r.classes) {
    nlohmann::ordered_json row = {{"op", c.name}, {"ops", c.ops}, {"measured_s", c.measured_s}};
    if (r.predicted_step_s) {
      row["predicted_s"] = c.predicted_s;
      if (c.mean_log_error) row["mean_log_error"] = *c.mean_log_error;
    }
    tree["classes"].push_back(std::move(row));
  }
  for (const RealrunMemory& m : r.memory) {
    tree["memory"].push_back({{"rank", m.rank},
                              {"planned_peak_bytes", m.planned.value},
                              {"held_peak_bytes", m.held.value},
                              {"in_flight_peak_bytes", m.in_flight.value}});
  }
  return json_text(tree);
}

std::string to_csv(const RealrunReport& r) {
  std::string out = csv_row({"op", "ops", "measured_s", "predicted_s", "mean_log_error"});
  for (const ClassResidual& c : r.classes) {
    out += csv_row(
        {c.name, fmt::format("{}", c.ops), fmt::format("{}", c.measured_s),
         r.predicted_step_s ? fmt::format("{}", c.predicted_s) : "",
         r.predicted_step_s && c.mean_log_error ? fmt::format("{}", *c.mean_log_error) : ""});
  }
  return out;
}

}  // namespace plait
