#include "reports/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "reports/compare.h"
#include "reports/csv.h"
#include "reports/human.h"
#include "reports/json_tree.h"
#include "reports/table.h"

namespace plait {
namespace {

using Tree = nlohmann::ordered_json;

/// "nodes 16, tp 8, pp 2, ..., micro-batch 1".
std::string words_of(const SearchRow& row) {
  return row.machine.empty() ? row.layout : machine_words(row.machine) + ", " + row.layout;
}

/// All that the scenario needs to become the row.
Assignments assignments_of(const SearchRow& row) {
  Assignments all = row.machine;
  all.insert(all.end(), row.settings.begin(), row.settings.end());
  return all;
}

/// Columns that not every search has.
struct Extra {
  bool gpus = false, price = false, energy = false, fits = false;
  double tokens = 0;
};

Extra extra_of(const SearchReport& s) {
  Extra out{.energy = s.objective == "energy", .tokens = s.tokens};
  for (const std::optional<SearchRow>* guide : {&s.own, &s.rule_of_thumb}) {
    out.fits = out.fits || (*guide && !(*guide)->report.memory.fits);
  }
  for (const std::vector<SearchRow>* rows : {&s.best, &s.front}) {
    for (const SearchRow& row : *rows) {
      out.gpus = out.gpus || !row.machine.empty();
      out.price = out.price || row.report.price_per_billion_tokens > 0;
    }
  }
  return out;
}

std::vector<TableColumn> columns(const Extra& extra) {
  std::vector<TableColumn> out = {{"step", 9}, {"change", 9}, {"tok/s/GPU", 10}};
  out.push_back({.title = "MFU", .width = 8, .optional = true});
  out.push_back({"memory", 11});
  if (extra.fits) out.push_back({"fits", 5});
  out.push_back({.title = "bubble", .width = 8, .optional = true});
  out.push_back({.title = "comm", .width = 8, .optional = true});
  if (extra.gpus) out.push_back({"GPUs", 7});
  if (extra.tokens > 0) out.push_back({"days", 7});
  if (extra.price) out.push_back({extra.tokens > 0 ? "price" : "per 1e9", 10});
  if (extra.energy) out.push_back({"kWh/1e9", 9});
  return out;
}

TableRow row_of(const std::string& name, const SearchRow& row, const Report& best,
                const Extra& extra) {
  const Report& r = row.report;
  const bool is_best = &r == &best;
  TableRow out = {
      name,
      {{human_time(r.step_time_s)},
       {is_best ? "-" : human_change(time_per_token_difference(r, best))},
       {human_rate(r.tokens_per_s_per_gpu)},
       {human_percent(r.mfu)},
       {human_bytes(r.memory.peak_memory_bytes), r.memory.fits ? Ink::kPlain : Ink::kBad}},
      ""};
  if (extra.fits) out.cells.push_back(fits_cell(r));
  out.cells.push_back({human_percent(fraction_of(r, "bubble"))});
  out.cells.push_back({human_percent(fraction_of(r, "exposed_communication"))});
  if (extra.gpus) out.cells.push_back({human_count(r.world_size)});
  if (extra.tokens > 0) out.cells.push_back({human_number(days_of_training(r))});
  if (extra.price) {
    const double price = r.training ? r.training->price : r.price_per_billion_tokens;
    out.cells.push_back({price > 0 ? human_rate(price) : "-"});
  }
  if (extra.energy) {
    const double energy = row.energy_kwh_per_billion_tokens;
    out.cells.push_back({energy > 0 ? human_rate(energy) : "-"});
  }
  return out;
}

/// What makes `row` slower than the best.
std::string why_slower(const Report& best, const Report& row) {
  std::vector<std::string> parts;
  for (const Difference& d : differences(best, row)) {
    if (parts.size() == 3) break;
    parts.push_back(fmt::format("{} {}{}", human_words(d.group), d.change_s > 0 ? "+" : "",
                                human_time(d.change_s)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// A row by the name that the lines below say the layout of, and what else is said of it.
struct Named {
  std::string name;
  const SearchRow* row = nullptr;
  std::string note = {};
};

std::vector<Named> numbered(const std::vector<SearchRow>& rows, const char* prefix) {
  std::vector<Named> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.push_back({fmt::format("{}{}", prefix, i + 1), &rows[i]});
  }
  return out;
}

/// How the model and a microbatch are cut: all but the chunks of a stage, and over how many of the
/// ranks that hold the same weights their state is sharded.
Assignments family_of(const SearchRow& row) {
  static constexpr std::array kWithin = {"strategy.dp", "strategy.fsdp", "strategy.pipeline.chunks",
                                         "strategy.pipeline.first_stage_layers",
                                         "strategy.pipeline.last_stage_layers"};
  Assignments out = assignments_of(row);
  std::erase_if(out, [](const auto& setting) {
    return std::ranges::find(kWithin, setting.path) != kWithin.end();
  });
  return out;
}

/// The best of each family, with a word on the others.
std::vector<Named> best_of_families(const std::vector<SearchRow>& rows) {
  std::vector<Named> out;
  std::vector<Assignments> families;
  std::vector<std::vector<const SearchRow*>> others;
  for (const Named& named : numbered(rows, "")) {
    const Assignments family = family_of(*named.row);
    const auto known = std::ranges::find(families, family);
    if (known != families.end()) {
      others[static_cast<std::size_t>(known - families.begin())].push_back(named.row);
      continue;
    }
    families.push_back(family), others.emplace_back(), out.push_back(named);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (others[i].empty()) continue;
    const double change = time_per_token_difference(others[i].back()->report, out[i].row->report);
    out[i].note = fmt::format("and {} like it, with other chunks or shards: {} at most",
                              others[i].size(), human_change(change));
  }
  return out;
}

void add_table(const std::string& title, const std::vector<Named>& rows, const Report& best,
               const Extra& extra, int width, std::vector<Line>& out) {
  std::vector<TableRow> table;
  for (const Named& n : rows) table.push_back(row_of(n.name, *n.row, best, extra));
  for (Line& line : table_lines(title, columns(extra), table, width)) {
    out.push_back(std::move(line));
  }
  out.emplace_back();
  constexpr int kName = 15;
  for (const auto& [name, row, note] : rows) {
    std::string label = name;
    for (std::string& part : wrap(words_of(*row), width - kName)) {
      out.push_back({{pad_right(label, kName)}, {std::move(part)}});
      label.clear();
    }
    const bool alike = same_batch(best, row->report);  // else parts of their steps say little
    const std::string why = &row->report == &best || !alike ? "" : why_slower(best, row->report);
    if (!why.empty()) out.push_back({{pad_right("", kName)}, {"to the best: " + why, Ink::kDim}});
    if (!note.empty()) out.push_back({{pad_right("", kName)}, {note, Ink::kDim}});
  }
  out.emplace_back();
}

Tree tree_of(const Assignments& settings) {
  Tree out = Tree::object();
  for (const Override& set : settings) out[set.path] = set.value;
  return out;
}

Tree tree_of(const std::vector<SearchedValues>& fields) {
  Tree out = Tree::object();
  for (const SearchedValues& field : fields) out[field.path] = field.values;
  return out;
}

Tree tree_of(const SearchRow& row) {
  Tree out = {{"machine", tree_of(row.machine)},
              {"settings", tree_of(row.settings)},
              {"layout", row.layout},
              {"bound_s", row.bound_s}};
  if (row.report.training) {
    out["training_days"] = days_of_training(row.report);
    out["training_price"] = row.report.training->price;
  }
  if (row.energy_kwh_per_billion_tokens > 0)
    out["energy_kwh_per_billion_tokens"] = row.energy_kwh_per_billion_tokens;
  out["report"] = json_tree(row.report);
  return out;
}

Tree tree_of(const std::vector<SearchRow>& rows) {
  Tree out = Tree::array();
  for (const SearchRow& row : rows) out.push_back(tree_of(row));
  return out;
}

Tree tree_of(const std::vector<SearchRefusal>& refusals) {
  Tree out = Tree::array();
  for (const SearchRefusal& r : refusals) {
    out.push_back({{"code", r.why.code},
                   {"problem", r.why.problem},
                   {"field", r.why.where.path},
                   {"cure", r.why.cure},
                   {"machine", tree_of(r.machine)},
                   {"layouts", r.layouts},
                   {"all", r.all}});
  }
  return out;
}

/// Why there is no best. Of what cannot be planned nobody knows whether it fits.
std::string nothing_of(const SearchReport& s) {
  if (!s.nothing.empty()) return s.nothing;
  const std::int64_t refused = s.counts.refused, planned = s.counts.considered - refused;
  if (refused == 0) return "NOTHING FITS";
  return fmt::format("NOTHING FITS of the {} layouts that can be planned; {} cannot",
                     human_count(planned), human_count(refused));
}

}  // namespace

SearchCounts& SearchCounts::operator+=(const SearchCounts& o) {
  considered += o.considered, refused += o.refused, too_large += o.too_large;
  too_slow += o.too_slow, simulated += o.simulated, open += o.open;
  fast_but_too_large += o.fast_but_too_large;
  gap = std::max(gap, o.gap), gap_of_last = std::max(gap_of_last, o.gap_of_last);
  return *this;
}

std::string machine_words(const Assignments& machine) {
  std::string out;
  for (const Override& set : machine) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", set.path.substr(set.path.rfind('.') + 1),
                       set.value);
  }
  return out;
}

std::string search_text(const SearchReport& s, const TerminalStyle& style) {
  std::vector<Line> out = {{{s.scenario, Ink::kBold}, {"  " + s.model + " on " + s.cluster}}};
  for (Line& line : search_notes(s, style.width)) out.push_back(std::move(line));
  out.emplace_back();
  if (s.best.empty()) {
    out.push_back({{nothing_of(s), Ink::kBad}});
    for (std::string& part : wrap(saving_words(s), style.width)) {
      if (!part.empty()) out.push_back({{std::move(part), Ink::kDim}});
    }
    return render(out, style);
  }
  const Report& best = s.best.front().report;
  std::vector<Named> rows = best_of_families(s.best);
  if (s.own_is_best)
    rows.front().note = "as written, which is none of the layouts that are searched";
  if (s.own) rows.push_back({"as written", &*s.own});
  if (s.rule_of_thumb) rows.push_back({"rule of thumb", &*s.rule_of_thumb});
  const Extra extra = extra_of(s);
  add_table("", rows, best, extra, style.width, out);
  if (!s.front.empty()) {
    add_table("front", numbered(s.front, "f"), best, extra, style.width, out);
    for (std::string& part : wrap(front_words(s), style.width)) {
      out.push_back({{std::move(part), Ink::kDim}});
    }
    out.emplace_back();
  }
  for (std::string& part : wrap(held_words(s), style.width)) {
    if (!part.empty()) out.push_back({{std::move(part), Ink::kDim}});
  }
  std::string text = render(out, style);
  const Assignments changes = assignments_of(s.best.front());
  return text + (changes.empty() ? "the scenario is the best\n"
                                 : "to make it so\n" + set_options(changes) + "\n");
}

std::string search_json(const SearchReport& s) {
  const SearchCounts& c = s.counts;
  Tree out = {{"scenario", s.scenario},
              {"model", s.model},
              {"cluster", s.cluster},
              {"objective", s.objective},
              {"command", s.run.command},
              {"version", s.run.version},
              {"interrupted", s.interrupted},
              {"layouts",
               {{"considered", c.considered},
                {"refused", c.refused},
                {"too_large", c.too_large},
                {"too_slow", c.too_slow},
                {"simulated", c.simulated},
                {"undecided", c.open},
                {"gap", c.gap},
                {"gap_of_last", c.gap_of_last},
                {"does_not_fit", c.fast_but_too_large}}},
              {"best", tree_of(s.best)}};
  if (!s.limits.empty()) {
    out["framework"] = {{"name", s.framework}, {"limits", tree_of(s.limits)}};
  }
  if (!s.untried.empty()) out["untried"] = tree_of(s.untried);
  out["network"] = "analytic";
  out["held"] = tree_of(s.held);
  if (!s.refusals.empty()) out["refusals"] = tree_of(s.refusals);
  if (!s.nothing.empty()) out["nothing"] = s.nothing;
  if (s.tokens > 0) out["tokens"] = s.tokens;
  if (!s.front.empty()) {
    out["layouts"]["simulated_for_front"] = s.simulated_for_front;
    out["front"] = tree_of(s.front);
    out["front_memory_step"] = kFrontStep;
    out["front_complete"] = !s.front_cut && s.not_begun == 0;
  }
  out["as_written"] = s.own ? tree_of(*s.own) : Tree(nullptr);
  if (s.own_refused) {
    out["as_written_refused"] = {{"code", s.own_refused->code},
                                 {"problem", s.own_refused->problem}};
  }
  out["rule_of_thumb"] = s.rule_of_thumb ? tree_of(*s.rule_of_thumb) : Tree(nullptr);
  return json_text(out);
}

std::string search_csv(const SearchReport& s) {
  std::vector<std::string> header = {"place"};
  const std::vector<std::string> names = csv_columns();
  header.insert(header.end(), names.begin(), names.end());
  header.insert(header.end(),
                {"bound_s", "settings", "energy_kwh_per_billion_tokens", "training_days"});
  const auto known = [](double x) { return x > 0 ? fmt::format("{}", x) : std::string(); };
  std::string out = csv_row(header);
  for (std::size_t i = 0; i < s.best.size(); ++i) {
    const SearchRow& row = s.best[i];
    std::vector<std::string> fields = {fmt::format("{}", i + 1)};
    const std::vector<std::string> values = csv_values(row.report);
    fields.insert(fields.end(), values.begin(), values.end());
    fields.insert(fields.end(),
                  {fmt::format("{}", row.bound_s), set_options(assignments_of(row)),
                   known(row.energy_kwh_per_billion_tokens), known(days_of_training(row.report))});
    out += csv_row(fields);
  }
  return out;
}

}  // namespace plait
