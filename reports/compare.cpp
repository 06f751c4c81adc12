#include "reports/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "core/error.h"
#include "reports/csv.h"
#include "reports/human.h"
#include "reports/json_tree.h"

namespace plait {
namespace {

struct Column {
  std::string_view title;
  int width;
};
constexpr std::array<Column, 8> kColumns = {{{"step", 9},
                                             {"change", 9},
                                             {"tok/s/GPU", 10},
                                             {"MFU", 8},
                                             {"memory", 11},
                                             {"fits", 5},
                                             {"bubble", 8},
                                             {"comm", 8}}};
constexpr int kMinLabel = 12;

double fraction_of(const Report& r, const std::string& group) {
  return r.step_time_s > 0 ? group_time(r.breakdown, group) / r.step_time_s : 0;
}

int label_width(const std::vector<Candidate>& candidates, int total) {
  int columns = 0;
  for (const Column& c : kColumns) columns += c.width;
  int longest = kMinLabel;
  for (const Candidate& c : candidates) longest = std::max(longest, display_width(c.label));
  return std::clamp(total - columns - 2, kMinLabel, longest);
}

Line report_line(const Report& r, const Report& reference, const std::string& label) {
  const std::array<std::string, kColumns.size()> cells = {
      human_time(r.step_time_s),
      &r == &reference ? "-" : human_change(step_time_difference(r, reference)),
      human_rate(r.tokens_per_s_per_gpu),
      human_percent(r.mfu),
      human_bytes(r.memory.peak_memory_bytes),
      r.memory.fits ? "yes" : "NO",
      human_percent(fraction_of(r, "bubble")),
      human_percent(fraction_of(r, "exposed_communication"))};
  Line line = {{label}};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool misfit = cells[i] == "NO";
    line.push_back({pad_left(cells[i], kColumns[i].width), misfit ? Ink::kBad : Ink::kPlain});
  }
  return line;
}

/// A label longer than its column stands on lines of its own, above the numbers.
std::vector<Line> candidate_lines(const Candidate& c, const Report* reference, int width,
                                  int total) {
  std::vector<Line> out;
  std::string label = c.label;
  if (display_width(label) > width) {
    out.push_back({{label}});
    label.clear();
  }
  label = pad_right(label, width);
  if (c.report && reference != nullptr) {
    out.push_back(report_line(*c.report, *reference, label));
    return out;
  }
  for (std::string& part : wrap(c.reason, std::max(20, total - width - 2))) {
    out.push_back({{label + "  "}, {std::move(part), Ink::kDim}});
    label = std::string(static_cast<std::size_t>(width), ' ');
  }
  return out;
}

/// Where the difference between two reports comes from, the largest part first.
std::vector<Line> difference_lines(const Report& from, const Report& to) {
  struct Part {
    std::string group;
    double change_s;
  };
  std::vector<Part> parts;
  for (const char* group :
       {"compute", "recompute", "exposed_communication", "bubble", "optimizer", "idle"}) {
    const double change = group_time(to.breakdown, group) - group_time(from.breakdown, group);
    if (std::abs(change) >= 1e-3 * from.step_time_s) parts.push_back({group, change});
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::abs(a.change_s) > std::abs(b.change_s);
  });
  std::vector<Line> out = {{}, {{"where the difference comes from", Ink::kBold}}};
  for (const Part& p : parts) {
    const std::string sign = p.change_s > 0 ? "+" : "";
    out.push_back({{"  " + pad_right(human_words(p.group), 24)},
                   {pad_left(sign + human_time(p.change_s), 10)},
                   {pad_left(human_change(p.change_s / from.step_time_s), 10)}});
  }
  if (parts.empty()) out.push_back({{"  no part changes by 0.1 % of the step time or more"}});
  return out;
}

}  // namespace

std::optional<std::size_t> reference_of(const std::vector<Candidate>& candidates) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].report) return i;
  }
  return std::nullopt;
}

double step_time_difference(const Report& report, const Report& reference) {
  return reference.step_time_s > 0 ? report.step_time_s / reference.step_time_s - 1 : 0;
}

std::string comparison_text(const std::vector<Candidate>& candidates, const TerminalStyle& style) {
  const std::optional<std::size_t> first = reference_of(candidates);
  const Report* reference = first ? &*candidates[*first].report : nullptr;
  const int width = label_width(candidates, style.width);
  std::vector<Line> lines(1);
  lines[0].push_back({pad_right("", width), Ink::kBold});
  for (const Column& c : kColumns) {
    lines[0].push_back({pad_left(std::string(c.title), c.width), Ink::kBold});
  }
  std::vector<const Report*> reports;
  for (const Candidate& c : candidates) {
    for (Line& l : candidate_lines(c, reference, width, style.width)) lines.push_back(std::move(l));
    if (c.report) reports.push_back(&*c.report);
  }
  if (reports.size() == 2 && candidates.size() == 2) {
    for (Line& l : difference_lines(*reports[0], *reports[1])) lines.push_back(std::move(l));
  }
  return render(lines, style);
}

std::string comparison_json(const std::vector<Candidate>& candidates) {
  using Tree = nlohmann::ordered_json;
  const std::optional<std::size_t> first = reference_of(candidates);
  Tree rows = Tree::array();
  for (const Candidate& c : candidates) {
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

std::string comparison_csv(const std::vector<Candidate>& candidates) {
  const std::optional<std::size_t> first = reference_of(candidates);
  std::vector<std::string> header = {"label", "planned", "step_time_difference", "reason"};
  const std::vector<std::string> columns = csv_columns();
  header.insert(header.end(), columns.begin(), columns.end());
  std::string out = csv_row(header);
  for (const Candidate& c : candidates) {
    std::vector<std::string> row = {c.label, c.report ? "true" : "false"};
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
  return unit.empty() ? value : value / 100;
}

std::vector<std::string> over_limit(const std::vector<Candidate>& candidates, double limit) {
  const std::optional<std::size_t> first = reference_of(candidates);
  std::vector<std::string> out;
  for (const Candidate& c : candidates) {
    const bool over =
        !c.report || std::abs(step_time_difference(*c.report, *candidates[*first].report)) > limit;
    if (over) out.push_back(c.label);
  }
  return out;
}

}  // namespace plait
