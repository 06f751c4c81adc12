#include "reports/whatif.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/bound.h"
#include "reports/compare.h"
#include "reports/human.h"
#include "reports/table.h"

namespace plait {
namespace {

/// The last words of a path that tell it apart from the other knobs' paths.
std::string title_of(const std::vector<Knob>& knobs, std::size_t k) {
  const std::string& path = knobs[k].path;
  for (std::size_t dot = path.rfind('.'); dot != std::string::npos && dot > 0;
       dot = path.rfind('.', dot - 1)) {
    const std::string tail = path.substr(dot);
    const auto same = [&](const Knob& o) { return o.path.ends_with(tail); };
    if (std::ranges::count_if(knobs, same) == 1) return tail.substr(1);
  }
  return path;
}

bool has_price(const WhatIf& study) {
  return std::ranges::any_of(
      study.points, [](const WhatIfPoint& p) { return p.report && p.report->price_per_step > 0; });
}

/// As wide as the widest value of each knob, and with `titles` as what stands above them.
std::vector<int> label_widths(const WhatIf& study, bool titles) {
  std::vector<int> out;
  for (std::size_t k = 0; k < study.knobs.size(); ++k) {
    int width = std::max(display_width(study.knobs[k].base), display_width("base"));
    if (titles) width = std::max(width, display_width(title_of(study.knobs, k)));
    for (const std::string& v : study.knobs[k].values) width = std::max(width, display_width(v));
    out.push_back(width);
  }
  return out;
}

/// Values of the knobs side by side.
std::string label_of(const std::vector<int>& widths, const std::vector<std::string>& values) {
  std::string out;
  for (std::size_t k = 0; k < widths.size(); ++k) {
    out += (k > 0 ? "  " : "") + pad_right(values[k], widths[k]);
  }
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

std::vector<TableColumn> columns_of(const WhatIf& study) {
  std::vector<TableColumn> out = {{"step", 8}};
  if (compares_trainings(study)) out.insert(out.end(), {{"training", 10}, {"goodput", 8}});
  out.insert(out.end(), {{"vs first", 9}, {"vs base", 9}, {"tok/s/GPU", 10}});
  const bool optional = compares_trainings(study);
  out.push_back({.title = "MFU", .width = 7, .optional = optional});
  out.push_back({.title = "comm", .width = 7, .optional = optional});
  out.push_back({"fits", 5});
  if (has_price(study)) out.push_back({compares_trainings(study) ? "price" : "per 1e9", 9});
  out.push_back({"bound by", 22, true});
  return out;
}

/// Whether the point is the scenario as it is.
bool is_base(const WhatIf& study, const WhatIfPoint& p) {
  if (!p.report || !study.base.report) return false;
  return p.report->run.scenario_sha256 == study.base.report->run.scenario_sha256;
}

TableRow row_of(const WhatIf& study, const WhatIfPoint& p, const Report* first,
                const std::vector<int>& widths) {
  const std::string label = label_of(widths, p.values);
  if (!p.report) return {label, {}, p.reason};
  const Report& r = *p.report;
  const Report* base = study.base.report && !is_base(study, p) ? &*study.base.report : nullptr;
  const auto versus = [&](const Report* to) {
    return to != nullptr && to != &r ? human_change(compared_difference(r, *to)) : "-";
  };
  TableRow row{label, {{human_time(r.step_time_s)}}, ""};
  if (compares_trainings(study)) {
    row.cells.push_back({human_duration(compared_time_s(r))});
    row.cells.push_back({r.training ? human_percent(r.training->goodput()) : "-"});
  }
  row.cells.insert(row.cells.end(), {{versus(first)},
                                     {versus(base)},
                                     {human_rate(r.tokens_per_s_per_gpu)},
                                     {human_percent(r.mfu)},
                                     {human_percent(fraction_of(r, "exposed_communication"))},
                                     fits_cell(r)});
  if (has_price(study)) {
    row.cells.push_back(compares_trainings(study) ? training_price_cell(r) : price_cell(r));
  }
  const std::string filled =
      p.filled ? fmt::format(" ({} {})", p.filled->path.substr(p.filled->path.rfind('.') + 1),
                             p.filled->value)
               : "";
  row.cells.push_back({bound_of(r) + filled});
  return row;
}

}  // namespace

const Report* first_report(const WhatIf& study) {
  for (const WhatIfPoint& p : study.points) {
    if (p.report) return &*p.report;
  }
  return nullptr;
}

std::string name_of_others(const WhatIf& study, const std::vector<std::string>& others) {
  std::vector<std::string> parts;
  for (std::size_t k = 1; k < study.knobs.size(); ++k) {
    parts.push_back(fmt::format("{} {}", title_of(study.knobs, k), others[k - 1]));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Knob make_knob(const Variation& variation, const std::string& base) {
  Knob knob{variation.path, variation.values, {}, base};
  for (const std::string& v : knob.values) {
    const auto m = read_measure(v);
    if (!m || (knob.numeric() && !m->same_kind(knob.measures.front()))) {
      knob.measures.clear();
      return knob;
    }
    const UnitOfMeasure unit = knob.numeric() ? knob.measures.front().unit : m->unit;
    knob.measures.push_back({m->base() / unit.scale, unit, m->noun});
  }
  const auto m = read_measure(base);
  const bool counts = base.find_first_not_of("0123456789") == std::string::npos;
  if (m && !counts && knob.numeric() && m->same_kind(knob.measures.front())) {
    knob.base = to_text(measure_of(knob, m->base() / knob.measures.front().unit.scale));
  }
  return knob;
}

Measure measure_of(const Knob& knob, double number) {
  return {number, knob.measures.front().unit, knob.measures.front().noun};
}

double compared_time_s(const Report& r) { return r.training ? r.training->total_s : r.step_time_s; }

bool compares_trainings(const WhatIf& study) {
  const Report* first = first_report(study);
  return first != nullptr && first->training.has_value();
}

double compared_difference(const Report& report, const Report& reference) {
  return compared_time_s(report) / compared_time_s(reference) - 1;
}

namespace {

/// Of one field, all others being as in the scenario.
std::string finding_words(const WhatIf& study, const KnobFinding& f) {
  const Knob& knob = study.knobs[f.knob];
  const BreakEven& b = f.found;
  const auto text = [&](double v) { return to_text(measure_of(knob, v)); };
  const char* time = compares_trainings(study) ? "training time" : "step time";
  switch (b.kind) {
    case BreakEven::Kind::kNoEffect:
      if (!f.why.empty()) return f.why;
      if (f.changes_nothing) {
        return fmt::format(
            "{} changes nothing at all from {} to {}: nothing that the scenario has "
            "depends on it there",
            knob.path, text(b.low), text(b.high));
      }
      return fmt::format("{} does not matter: from {} to {} the {} changes by less than 1 %",
                         knob.path, text(b.low), text(b.high), time);
    case BreakEven::Kind::kEnough:
      return fmt::format("{} {} {} no longer matters: the {} is within 1 % of {}",
                         b.more_is_better ? "above" : "below", text(b.at), knob.path, time,
                         b.more_is_better ? "unlimited" : "the least");
    case BreakEven::Kind::kBound:
      return fmt::format("below {} of {} the step is bound by {}, above by {}", text(b.at),
                         knob.path, b.below, b.above);
    case BreakEven::Kind::kNotMonotone:
      return fmt::format(
          "the {} is not monotone in {}: it rises by {} from {} to {}; another algorithm of "
          "a collective is chosen, another rank decides, or more channels of a collective take "
          "more multiprocessors from the kernels beside it",
          time, knob.path, human_percent(b.rise), text(b.more_is_better ? b.low : b.high),
          text(b.more_is_better ? b.high : b.low));
  }
  return "";
}

std::vector<TableRow> rows_of(const WhatIf& study, bool among_points,
                              const std::vector<int>& widths) {
  std::vector<TableRow> rows;
  const Report* first = first_report(study);
  const auto add = [&](const WhatIfPoint& p, bool base) {
    rows.push_back(row_of(study, p, first, widths));
    if (!base) return;
    for (Span& cell : rows.back().cells) cell.ink = cell.ink == Ink::kPlain ? Ink::kDim : cell.ink;
  };
  if (!among_points) add(study.base, true);
  for (const WhatIfPoint& p : study.points) add(p, is_base(study, p));
  return rows;
}

/// Values stand below the names of their fields, where there is room for these beside the numbers;
/// else the names stand above, and the values as close as they can.
std::vector<Line> study_table(const WhatIf& study, bool among_points, int width) {
  std::vector<std::string> titles;
  for (std::size_t k = 0; k < study.knobs.size(); ++k) titles.push_back(title_of(study.knobs, k));
  std::vector<int> widths = label_widths(study, true);
  const std::vector<TableColumn> columns = columns_of(study);
  if (const std::string title = label_of(widths, titles);
      labels_have_room(title, columns, rows_of(study, among_points, widths), width)) {
    return table_lines(title, columns, rows_of(study, among_points, widths), width);
  }
  widths = label_widths(study, false);
  const std::string above = fmt::format("{}", fmt::join(titles, ", "));
  return table_lines(above, columns, rows_of(study, among_points, widths), width);
}

}  // namespace

std::string sentence(const WhatIf& study, const KnobFinding& finding) {
  const char* others = study.knobs.size() > 1 ? "the others as in the scenario: " : "";
  return others + finding_words(study, finding);
}

std::string sentence(const WhatIf& study, const Crossover& c) {
  return fmt::format("{} beats {} above {} of {}", name_of_others(study, c.second),
                     name_of_others(study, c.first), to_text(measure_of(study.knobs[0], c.at)),
                     study.knobs[0].path);
}

std::string whatif_text(const WhatIf& study, const TerminalStyle& style) {
  const bool among_points =
      std::ranges::any_of(study.points, [&](const WhatIfPoint& p) { return is_base(study, p); });
  const bool first_is_planned = !study.points.empty() && study.points.front().report;
  const std::string legend = fmt::format("  {}; first is {}{}",
                                         among_points ? "base is the scenario, with - under vs base"
                                                      : "base, the first row, is the scenario",
                                         among_points ? "the first row" : "the point below it",
                                         first_is_planned ? "" : " that can be planned");
  std::vector<Line> lines = {{{study.scenario, Ink::kBold}, {legend}}};
  append(lines, study_table(study, among_points, style.width));
  std::vector<std::string> statements;
  for (const KnobFinding& f : study.findings) statements.push_back(sentence(study, f));
  for (const Crossover& c : study.crossovers) statements.push_back(sentence(study, c));
  if (!statements.empty()) lines.emplace_back();
  for (const std::string& s : statements) {
    std::string lead = "- ";
    for (std::string& part : wrap(s, style.width - 2)) {
      lines.push_back({{lead + part}});
      lead = "  ";
    }
  }
  return render(lines, style);
}

}  // namespace plait
