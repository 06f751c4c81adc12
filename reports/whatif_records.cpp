// What-if studies for machines: JSON and CSV.

#include <fmt/format.h>

#include "reports/bound.h"
#include "reports/compare.h"
#include "reports/csv.h"
#include "reports/json_tree.h"
#include "reports/whatif.h"

namespace plait {
namespace {

using Tree = nlohmann::ordered_json;

/// Step time / that of `to` - 1; nothing where one of them was not planned.
std::optional<double> change(const std::optional<Report>& of, const Report* to) {
  if (!of || to == nullptr) return std::nullopt;
  return step_time_difference(*of, *to);
}

Tree values_tree(const WhatIf& study, const std::vector<std::string>& values) {
  Tree out = Tree::object();
  for (std::size_t k = 0; k < values.size(); ++k) out[study.knobs[k].path] = values[k];
  return out;
}

Tree tree_of(const WhatIf& study, const WhatIfPoint& p, const Report* first) {
  Tree out = {{"values", values_tree(study, p.values)}, {"planned", p.report.has_value()}};
  if (p.filled) out["filled"] = {{p.filled->path, p.filled->value}};
  if (!p.report) {
    out["reason"] = p.reason;
    return out;
  }
  const Report& r = *p.report;
  out["step_time_s"] = r.step_time_s;
  out["step_time_difference_to_first"] = change(p.report, first).value_or(0);
  if (const auto by = change(p.report, study.base.report ? &*study.base.report : nullptr)) {
    out["step_time_difference_to_base"] = *by;
  }
  out["tokens_per_s_per_gpu"] = r.tokens_per_s_per_gpu;
  out["mfu"] = r.mfu;
  out["exposed_communication_fraction"] = fraction_of(r, "exposed_communication");
  out["bound"] = bound_of(r);
  out["fits"] = r.memory.fits;
  out["peak_memory_bytes"] = r.memory.peak_memory_bytes;
  out["world_size"] = r.world_size;
  out["cluster"] = r.cluster;
  out["layout"] = r.layout;
  out["placement"] = r.placement.empty() ? "in order" : r.placement;
  if (r.price_per_step > 0) {
    out["price_per_step"] = r.price_per_step;
    out["price_per_billion_tokens"] = r.price_per_billion_tokens;
  }
  if (r.training) {
    out["training_s"] = r.training->total_s;
    out["goodput"] = r.training->goodput();
    if (r.training->price > 0) out["training_price"] = r.training->price;
    if (r.training->energy_kwh > 0) out["training_energy_kwh"] = r.training->energy_kwh;
    const Report* base = study.base.report ? &*study.base.report : nullptr;
    if (base != nullptr) out["training_difference_to_base"] = compared_difference(r, *base);
  }
  return out;
}

std::string_view kind_name(BreakEven::Kind kind) {
  switch (kind) {
    case BreakEven::Kind::kNoEffect: return "no_effect";
    case BreakEven::Kind::kEnough: return "no_longer_matters";
    case BreakEven::Kind::kBound: return "bound_changes";
    case BreakEven::Kind::kNotMonotone: return "not_monotone";
  }
  return "";
}

Tree tree_of(const WhatIf& study, const KnobFinding& f) {
  const Knob& knob = study.knobs[f.knob];
  const BreakEven& b = f.found;
  Tree out = {{"path", knob.path},
              {"kind", kind_name(b.kind)},
              {"unit", knob.measures.front().unit.name},
              {"statement", sentence(study, f)}};
  switch (b.kind) {
    case BreakEven::Kind::kEnough:
      out["value"] = b.at;
      out["more_is_better"] = b.more_is_better;
      break;
    case BreakEven::Kind::kBound:
      out["value"] = b.at;
      out["bound_below"] = b.below;
      out["bound_above"] = b.above;
      break;
    case BreakEven::Kind::kNotMonotone: out["step_time_rise"] = b.rise; [[fallthrough]];
    case BreakEven::Kind::kNoEffect:
      out["low"] = b.low;
      out["high"] = b.high;
      break;
  }
  return out;
}

Tree tree_of(const WhatIf& study, const Crossover& c) {
  const auto others = [&](const std::vector<std::string>& values) {
    Tree out = Tree::object();
    for (std::size_t k = 1; k < study.knobs.size(); ++k) out[study.knobs[k].path] = values[k - 1];
    return out;
  };
  return {{"path", study.knobs[0].path},
          {"unit", study.knobs[0].measures.front().unit.name},
          {"value", c.at},
          {"faster_below", others(c.first)},
          {"faster_above", others(c.second)},
          {"statement", sentence(study, c)}};
}

}  // namespace

std::string whatif_json(const WhatIf& study) {
  const Report* first = first_report(study);
  Tree varied = Tree::array(), points = Tree::array(), findings = Tree::array(),
       crossovers = Tree::array();
  for (const Knob& k : study.knobs) {
    Tree knob = {{"path", k.path}, {"values", k.values}};
    if (!k.base.empty()) knob["base"] = k.base;
    varied.push_back(std::move(knob));
  }
  for (const WhatIfPoint& p : study.points) points.push_back(tree_of(study, p, first));
  for (const KnobFinding& f : study.findings) findings.push_back(tree_of(study, f));
  for (const Crossover& c : study.crossovers) crossovers.push_back(tree_of(study, c));
  return json_text({{"scenario", study.scenario},
                    {"command", study.command},
                    {"varied", std::move(varied)},
                    {"base", tree_of(study, study.base, first)},
                    {"points", std::move(points)},
                    {"break_even", std::move(findings)},
                    {"crossovers", std::move(crossovers)}});
}

std::string whatif_csv(const WhatIf& study) {
  const Report* first = first_report(study);
  std::vector<std::string> header;
  for (const Knob& k : study.knobs) header.push_back(k.path);
  for (const char* name : {"step_time_difference_to_first", "step_time_difference_to_base", "bound",
                           "exposed_communication_fraction", "reason"}) {
    header.emplace_back(name);
  }
  const std::vector<std::string> columns = csv_columns();
  header.insert(header.end(), columns.begin(), columns.end());
  std::string out = csv_row(header);
  const Report* base = study.base.report ? &*study.base.report : nullptr;
  const auto number = [](std::optional<double> v) { return v ? fmt::format("{}", *v) : ""; };
  for (const WhatIfPoint& p : study.points) {
    std::vector<std::string> row = p.values;
    row.push_back(number(change(p.report, first)));
    row.push_back(number(change(p.report, base)));
    row.push_back(p.report ? bound_of(*p.report) : "");
    row.push_back(p.report ? number(fraction_of(*p.report, "exposed_communication")) : "");
    row.push_back(p.reason);
    const std::vector<std::string> values =
        p.report ? csv_values(*p.report) : std::vector<std::string>(columns.size());
    row.insert(row.end(), values.begin(), values.end());
    out += csv_row(row);
  }
  return out;
}

}  // namespace plait
