#include "reports/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/error.h"
#include "core/json.h"
#include "reports/csv.h"
#include "reports/human.h"
#include "reports/json_tree.h"
#include "reports/table.h"

namespace plait {
namespace {

/// Columns that not every comparison has.
struct CompareExtra {
  bool gpus = false, host = false, price = false, training = false, energy = false;
};

CompareExtra extra_of(const std::vector<const Report*>& reports) {
  CompareExtra out;
  for (const Report* r : reports) {
    out.gpus = out.gpus || r->world_size != reports.front()->world_size;
    out.host = out.host || r->memory.host_bytes > 0;
    out.price = out.price || r->price_per_billion_tokens > 0;
    out.training = out.training || r->training.has_value();
    out.energy = out.energy || (r->training && r->training->energy_kwh > 0);
  }
  return out;
}

std::vector<TableColumn> columns_of(const CompareExtra& extra) {
  std::vector<TableColumn> out = {{"step", 9}, {"change", 9}, {"tok/s/GPU", 10}};
  out.push_back({.title = "MFU", .width = 8, .optional = true});
  out.push_back({"memory", 11});
  if (extra.host) out.push_back({"host", 11});
  out.push_back({"fits", 5});
  out.push_back({.title = "bubble", .width = 8, .optional = true});
  out.push_back({.title = "comm", .width = 8, .optional = true});
  if (extra.gpus) out.push_back({"GPUs", 7});
  if (extra.price && !extra.training) out.push_back({"per 1e9", 9});
  if (extra.training) out.insert(out.end(), {{"training", 10}, {"goodput", 8}});
  if (extra.training && extra.price) out.push_back({"price", 9});
  if (extra.energy) out.push_back({"energy", 9});
  return out;
}

/// Of the fullest rank, in the colour of what is bad where its device has less.
Span memory_cell(const MemoryReport& m) {
  return {human_bytes(m.peak_memory_bytes), m.free_bytes() >= 0 ? Ink::kPlain : Ink::kBad};
}

/// Likewise of the fullest node's host memory.
Span host_cell(const MemoryReport& m) {
  if (m.host_bytes == 0) return {"-"};
  return {human_bytes(m.host_bytes), m.host_fits() ? Ink::kPlain : Ink::kBad};
}

TableRow row_of(const ComparedScenario& c, const Report* reference, const CompareExtra& extra) {
  if (!c.report || reference == nullptr) return {c.label, {}, c.reason};
  const Report& r = *c.report;
  TableRow out = {c.label,
                  {{human_time(r.step_time_s)},
                   {&r == reference ? "-" : human_change(step_time_difference(r, *reference))},
                   {human_rate(r.tokens_per_s_per_gpu)},
                   {human_percent(r.mfu)},
                   memory_cell(r.memory)},
                  ""};
  if (extra.host) out.cells.push_back(host_cell(r.memory));
  out.cells.insert(out.cells.end(), {fits_cell(r),
                                     {human_percent(fraction_of(r, "bubble"))},
                                     {human_percent(fraction_of(r, "exposed_communication"))}});
  if (extra.gpus) out.cells.push_back({human_count(r.world_size)});
  if (extra.price && !extra.training) out.cells.push_back(price_cell(r));
  if (extra.training) {
    out.cells.push_back({r.training ? human_duration(r.training->total_s) : "-"});
    out.cells.push_back({r.training ? human_percent(r.training->goodput()) : "-"});
    if (extra.price) out.cells.push_back(training_price_cell(r));
    if (extra.energy) out.cells.push_back(training_energy_cell(r));
  }
  return out;
}

std::vector<Line> difference_lines(const Report& from, const Report& to) {
  const std::vector<Difference> parts = differences(from, to);
  const Report& pipelined = from.mesh[Axis::kPp] > 1 ? from : to;
  std::vector<Line> out = {{}, {{"where the difference comes from", Ink::kBold}}};
  for (const Difference& p : parts) {
    const std::string sign = p.change_s > 0 ? "+" : "";
    out.push_back({{"  " + pad_right(group_words(pipelined, p.group), 24)},
                   {pad_left(sign + human_time(p.change_s), 10)},
                   {pad_left(human_change(p.change_s / from.step_time_s), 10)}});
  }
  if (parts.empty()) out.push_back({{"  no part changes by 0.1 % of the step time or more"}});
  return out;
}

/// Tokens of a step, to a token.
double tokens_of(const Report& r) { return std::round(r.tokens_per_s * r.step_time_s); }

/// Where steps are of different batches, their times alone say little.
std::string sizes_of(const std::vector<const Report*>& reports) {
  if (reports.empty()) return "";
  const auto [least, most] =
      std::ranges::minmax_element(reports, {}, [](const Report* r) { return tokens_of(*r); });
  if (same_batch(**least, **most)) return "";
  return fmt::format("the steps are of {} to {} tokens: compare tokens/s, not step times",
                     human_rate(tokens_of(**least)), human_rate(tokens_of(**most)));
}

}  // namespace

std::vector<Difference> differences(const Report& from, const Report& to) {
  std::vector<Difference> out;
  for (const std::string_view name : kShareGroups) {
    const std::string group(name);
    const double change = group_time(to.breakdown, group) - group_time(from.breakdown, group);
    if (std::abs(change) >= 1e-3 * from.step_time_s) out.push_back({group, change});
  }
  std::stable_sort(out.begin(), out.end(), [](const Difference& a, const Difference& b) {
    return std::abs(a.change_s) > std::abs(b.change_s);
  });
  return out;
}

std::optional<std::size_t> reference_of(const std::vector<ComparedScenario>& candidates) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].report) return i;
  }
  return std::nullopt;
}

double fraction_of(const Report& r, const std::string& group) {
  return r.step_time_s > 0 ? group_time(r.breakdown, group) / r.step_time_s : 0;
}

Span price_cell(const Report& r) {
  const double price = r.price_per_billion_tokens;
  return {price > 0 ? fmt::format("{:.5g}", price) : "-"};
}

Span training_price_cell(const Report& r) {
  return {r.training && r.training->price > 0 ? human_rate(r.training->price) : "-"};
}

Span training_energy_cell(const Report& r) {
  const double kwh = r.training ? r.training->energy_kwh : 0;
  return {kwh > 0 ? human_rate(1000 * kwh) + "Wh" : "-"};
}

Span fits_cell(const Report& r) { return r.memory.fits ? Span{"yes"} : Span{"NO", Ink::kBad}; }

double step_time_difference(const Report& report, const Report& reference) {
  return reference.step_time_s > 0 ? report.step_time_s / reference.step_time_s - 1 : 0;
}

bool same_batch(const Report& a, const Report& b) {
  const auto [least, most] = std::minmax({tokens_of(a), tokens_of(b)});
  return most <= 1.01 * least;
}

double time_per_token_difference(const Report& report, const Report& reference) {
  if (same_batch(report, reference)) return step_time_difference(report, reference);
  return report.tokens_per_s > 0 ? reference.tokens_per_s / report.tokens_per_s - 1 : 0;
}

std::string half_squares_words(const std::vector<const Report*>& reports) {
  std::vector<double> halves;
  for (const Report* r : reports) {
    if (r->counts_whole_squares()) halves.push_back(r->mfu_of_half_squares);
  }
  if (halves.empty()) return "";
  const auto [least, most] = std::ranges::minmax(halves);
  std::string range = human_percent(least);
  if (human_percent(most) != range) range += " to " + human_percent(most);
  return "MFU and HFU count whole squares of causal attention; where half of each counts, as "
         "kernels compute it, MFU is " +
         range;
}

std::string comparison_text(const std::vector<ComparedScenario>& candidates,
                            const TerminalStyle& style) {
  const std::optional<std::size_t> first = reference_of(candidates);
  const Report* reference = first ? &*candidates[*first].report : nullptr;
  std::vector<TableRow> rows;
  std::vector<const Report*> reports;
  for (const ComparedScenario& c : candidates) {
    if (c.report) reports.push_back(&*c.report);
  }
  const CompareExtra extra = extra_of(reports);
  for (const ComparedScenario& c : candidates) rows.push_back(row_of(c, reference, extra));
  std::vector<Line> lines = table_lines("", columns_of(extra), std::move(rows), style.width);
  if (const std::string sizes = sizes_of(reports); !sizes.empty()) {
    lines.emplace_back();
    lines.push_back({{sizes, Ink::kBold}});
  }
  for (std::string& part : wrap(half_squares_words(reports), style.width)) {
    if (!part.empty()) lines.push_back({{std::move(part), Ink::kDim}});
  }
  if (reports.size() == 2 && candidates.size() == 2) {
    for (Line& l : difference_lines(*reports[0], *reports[1])) lines.push_back(std::move(l));
  }
  return render(lines, style);
}

std::string comparison_json(const std::vector<ComparedScenario>& candidates) {
  using Tree = nlohmann::ordered_json;
  const std::optional<std::size_t> first = reference_of(candidates);
  Tree rows = Tree::array();
  for (const ComparedScenario& c : candidates) {
    Tree row = {{"label", c.label}, {"planned", c.report.has_value()}};
    if (c.report) {
      row["step_time_difference"] = step_time_difference(*c.report, *candidates[*first].report);
      row["report"] = json_tree(*c.report);
    } else {
      row["reason"] = c.reason;
    }
    rows.push_back(std::move(row));
  }
  Tree out = {{"reference", first ? Tree(candidates[*first].label) : Tree(nullptr)},
              {"candidates", std::move(rows)}};
  return json_text(out);
}

std::string comparison_csv(const std::vector<ComparedScenario>& candidates) {
  const std::optional<std::size_t> first = reference_of(candidates);
  std::vector<std::string> header = {"label", "planned", "step_time_difference", "reason"};
  const std::vector<std::string> columns = csv_columns();
  header.insert(header.end(), columns.begin(), columns.end());
  std::string out = csv_row(header);
  for (const ComparedScenario& c : candidates) {
    std::vector<std::string> row = {c.label, json_bool(c.report.has_value())};
    row.push_back(
        c.report ? fmt::format("{}", step_time_difference(*c.report, *candidates[*first].report))
                 : "");
    row.push_back(c.reason);
    const std::vector<std::string> values =
        c.report ? csv_values(*c.report) : std::vector<std::string>(columns.size());
    row.insert(row.end(), values.begin(), values.end());
    out += csv_row(row);
  }
  return out;
}

double parse_limit(const std::string& text) {
  const std::size_t number = text.find_first_not_of("0123456789.");
  const std::string unit = number == std::string::npos ? "" : text.substr(number);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool known_unit = unit.empty() || unit == "%" || unit == " %";
  if (number == 0 || text.empty() || !known_unit ||
      end != text.c_str() + (text.size() - unit.size())) {
    throw InputError({.code = "G008",
                      .problem = fmt::format("--fail-over {}: not a limit", text),
                      .expected = "a percentage like 5% or a fraction like 0.05",
                      .cure = "for example --fail-over 5%"});
  }
  if (unit.empty() && value > 1) {
    throw InputError(
        {.code = "G008",
         .problem = fmt::format("--fail-over {0}: a limit of {0} times the step", text),
         .expected = "a percentage like 5% or a fraction like 0.05",
         .cure = fmt::format("of a percentage: --fail-over {}%", text)});
  }
  return unit.empty() ? value : value / 100;
}

std::vector<std::string> over_limit(const std::vector<ComparedScenario>& candidates, double limit) {
  const std::optional<std::size_t> first = reference_of(candidates);
  std::vector<std::string> out;
  for (const ComparedScenario& c : candidates) {
    const bool over =
        !c.report || std::abs(step_time_difference(*c.report, *candidates[*first].report)) > limit;
    if (over) out.push_back(c.label);
  }
  return out;
}

}  // namespace plait
