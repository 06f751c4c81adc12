#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <map>

#include "reports/human.h"
#include "reports/table.h"
#include "reports/validate.h"

namespace plait {
namespace {

Span percent(const std::optional<double>& value) {
  return {value ? human_percent(*value) : std::string("-")};
}
Span change(const std::optional<double>& value) {
  return {value ? human_change(*value) : std::string("-")};
}

Span fit_cell(const ValidationRecord& r) {
  const std::string predicted = r.fits ? "fits" : "no";
  if (!r.says_memory) return {predicted};
  const bool right = r.fits != r.measured_oom;
  return {predicted + (right            ? ""
                       : r.measured_oom ? ", was OOM"
                                        : ", ran"),
          right ? Ink::kPlain : Ink::kBad};
}

TableRow record_row(const ValidationRecord& r) {
  TableRow row{r.id, {}, r.reason};
  if (!r.predicted()) return row;
  row.cells = {
      {r.measured_s ? human_time(*r.measured_s) : "-"},
      {human_time(r.predicted_s)},
      change(r.error()),
      fit_cell(r),
      {r.measured_memory_bytes ? human_bytes(static_cast<std::int64_t>(*r.measured_memory_bytes))
                               : "-"},
      {r.measured_memory_bytes ? human_bytes(static_cast<std::int64_t>(r.predicted_memory_bytes))
                               : "-"},
      {fmt::format("{:.0f}/{:.0f}/{:.0f} %", 100 * (r.provenance.share[0] + r.provenance.share[1]),
                   100 * r.provenance.share[2], 100 * r.provenance.share[3])}};
  return row;
}

TableRow summary_row(const std::string& name, const ValidationSummary& s) {
  return {name,
          {{human_count(s.n)},
           percent(s.mape),
           percent(s.median_ape),
           percent(s.p90_ape),
           change(s.bias),
           {s.kendall_tau ? fmt::format("{:.2f}", *s.kendall_tau) : "-"},
           percent(s.top1_regret),
           percent(s.oom_accuracy),
           percent(s.memory_median_ape),
           percent(s.repeat_ape),
           percent(s.in_band),
           {human_count(s.not_represented)}},
          ""};
}

void append_paragraph(std::vector<Line>& lines, std::vector<Line> more) {
  append(lines, std::move(more));
  lines.emplace_back();
}

/// Of records of which the same is said.
class NamedRecords {
 public:
  void add(const std::string& id) {
    constexpr std::size_t kNamed = 3;  // enough to look one up, on one line
    ++count_;
    if (ids_.size() < kNamed) ids_.push_back(id);
  }
  /// "   5 x  what was said (a#1, a#2, a#3, ...)"
  Line line(const std::string& said) const {
    const bool more = static_cast<std::size_t>(count_) > ids_.size();
    return {{fmt::format("  {:>4} x  {} ({}{})", count_, said, fmt::join(ids_, ", "),
                         more ? ", ..." : "")}};
  }

 private:
  std::int64_t count_ = 0;
  std::vector<std::string> ids_;
};

std::vector<Line> lines_of(const std::string& title,
                           const std::map<std::string, NamedRecords>& said) {
  std::vector<Line> lines;
  if (!said.empty()) lines.push_back({{title, Ink::kBold}});
  for (const auto& [what, records] : said) lines.push_back(records.line(what));
  return lines;
}

/// Reasons, and how many records each keeps out.
std::vector<Line> reason_lines(const Validation& v) {
  std::map<std::string, NamedRecords> reasons;
  for (const ValidationRecord& r : v.records) {
    if (!r.predicted()) reasons[r.file + ": " + r.reason].add(r.id);
  }
  return lines_of("not represented, and counted nowhere", reasons);
}

/// What records left out, and what was taken for it.
std::vector<Line> assumption_lines(const Validation& v) {
  std::map<std::string, NamedRecords> assumed;
  for (const ValidationRecord& r : v.records) {
    if (!r.predicted()) continue;
    for (const std::string& a : r.assumed) assumed[a].add(r.id);
  }
  return lines_of("taken where a record does not say", assumed);
}

}  // namespace

std::string validation_text(const Validation& v, int worst, const TerminalStyle& style) {
  std::vector<Line> lines;
  std::vector<TableRow> rows;
  for (const ValidationRecord* r : v.listed(worst)) {
    if (r->predicted()) rows.push_back(record_row(*r));
  }
  const std::vector<TableColumn> record_columns = {
      {"measured", 9}, {"predicted", 10}, {"error", 8},          {"memory", 13, true},
      {"measured", 9}, {"predicted", 10}, {"fit/sheet/extr", 15}};
  const std::string title = worst < 0 ? "record" : "worst records";
  append_paragraph(lines, table_lines(title, record_columns, rows, style.width));
  std::vector<TableRow> sums;
  for (const std::string& file : v.files()) {
    sums.push_back(summary_row(file, summarize(v.of_file(file))));
  }
  sums.push_back(summary_row("all", summarize(v.of_file(""))));
  const std::vector<TableColumn> columns = {
      {"n", 5},      {"mean", 7}, {"median", 7}, {"p90", 7},   {"bias", 7},    {"tau", 5},
      {"regret", 7}, {"OOM", 7},  {"memory", 7}, {"noise", 6}, {"in band", 8}, {"not", 5}};
  append_paragraph(lines, table_lines("file", columns, sums, style.width));
  append_paragraph(lines, assumption_lines(v));
  append_paragraph(lines, reason_lines(v));
  return render(lines, style);
}

}  // namespace plait
