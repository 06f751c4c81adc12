#include "prediction/search/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/parallel.h"
#include "plan/refusal.h"
#include "prediction/costs.h"
#include "prediction/prediction.h"
#include "prediction/prices.h"
#include "prediction/run_facts.h"
#include "scenarios/overrides.h"
#include "search/refusals.h"
#include "search/rule_of_thumb.h"
#include "search/settings.h"
#include "search/sharers.h"

namespace plait {
namespace {

std::string words_of(const Layout& layout, const Scenario& s) {
  std::string out = layout_text(s.strategy);
  const std::int64_t sequences = s.workload.global_batch / layout.replicas();
  const bool in_turns = layout.pp == 1 && sequences > layout.micro_batch;
  if (in_turns && layout.schedule == Schedule::kGpipe) out += ", all passes forward first (gpipe)";
  const bool gathers = sharers_of(layout, s.strategy).zero_stage == 3;
  if (gathers && !layout.reshard) out += ", gathered weights kept";
  return out + fmt::format(", micro-batch {}", layout.micro_batch);
}

/// Nothing where it is no layout of this machine, or cannot be planned (S codes): `refused`.
std::optional<Scenario> as_written(const SearchQuestion& q, const std::vector<Override>& sets,
                                   std::optional<InputError::Text>& refused) {
  try {
    return parse_scenario(q.text, q.file, sets);
  } catch (const InputError& error) {
    if (!error.text().code.starts_with('S')) throw;
    refused = error.text();
    return std::nullopt;
  }
}

/// Fields that --set gives one value, where the scenario leaves none open and so all are searched.
std::vector<std::string> searched_all_the_same(const SearchQuestion& q, const OpenScenario& open,
                                               const std::vector<std::string>& kept) {
  std::vector<std::string> out;
  if (open.leaves_open()) return out;
  for (const Override& set : q.sets) {
    const std::string path = canonical_path(set.path);
    const auto keeps = [&path](const std::string& k) { return canonical_path(k) == path; };
    const bool searched = std::ranges::count(search_paths(), path) > 0;
    if (searched && std::ranges::none_of(kept, keeps)) out.push_back(path);
  }
  return out;
}

/// What was varied around the layout, which says fields of its own itself.
Assignments around(const Assignments& machine, const std::vector<std::string>& held) {
  Assignments out = machine;
  std::erase_if(out, [&held](const Override& set) {
    const auto is_said = [path = canonical_path(set.path)](const std::string& field) {
      return field == path || field.starts_with(path + ".");
    };
    return !set.value.starts_with('{') && std::ranges::any_of(held, is_said);
  });
  return out;
}

}  // namespace

Study::Study(const SearchQuestion& q, Assignments machine)
    : question_(q), machine_(std::move(machine)) {
  std::vector<Override> sets = q.sets;
  sets.insert(sets.end(), machine_.begin(), machine_.end());
  open_ = parse_open_scenario(q.text, q.file, sets);
  if (open_.scenario.cluster.shares_memory()) {
    throw locate(
        refusal("S055", "a search on parts of a GPU, which share its memory", "cluster",
                "devices with memory of their own", "simulate layouts one by one with `plait run`"),
        open_.scenario);
  }
  held_ = kept_ = held_by(machine_, open_);
  kept_.insert(kept_.end(), q.keep.begin(), q.keep.end());
  space_ = space_of(open_, kept_);
  open_.scenario.price_per_device_hour = price_of(q.prices, open_.scenario);
  if (q.tokens > 0) {
    if (!open_.scenario.training) open_.scenario.training.emplace();
    open_.scenario.training->tokens = q.tokens;
  }
  costs_ = costs_of(open_.scenario);
  if (!open_.leaves_open()) own_ = as_written(q, sets, own_refused_);
}

Warnings Study::warnings() const {
  Warnings out = open_.scenario.warnings;
  std::erase_if(out, [](const Warning& w) { return w.code == "W001"; });
  if (open_.scenario.flow_network) {
    out.push_back(
        {"W006", "network flow: layouts are searched and simulated with the analytic network"});
  }
  for (const std::string& field : searched_all_the_same(question_, open_, kept_)) {
    out.push_back({"W022", fmt::format("{0} of --set is where the search begins, and is searched "
                                       "like the whole layout: --keep {0} keeps it",
                                       field)});
  }
  return out;
}

std::string Study::identity() const {
  const PlacementRule& rule = open_.scenario.placement_rule;
  std::string placed;
  for (const Axis axis : rule.order) placed += fmt::format("{} ", name_of(axis));
  if (rule.stages_per_node > 0) placed += fmt::format("{} stages per node ", rule.stages_per_node);
  return open_.scenario.canonical_json + "\n" + text_of(space_) + placed + "\n";
}

bool Study::is_written(const OpenScenario& own) const {
  const Scenario &a = open_.scenario, &b = own.scenario;
  return a.canonical_json == b.canonical_json && a.placement_rule == b.placement_rule &&
         said_in(open_) == said_in(own);
}

Assignments Study::settings(std::uint32_t number) const {
  return settings_of(work_->layouts()[number]);
}

void Study::begin() {
  work_ = std::make_unique<SearchWork>(open_.scenario, costs_, space_, question_.jobs);
}

bool Study::follow(const std::function<bool(SearchWork&)>& answer) {
  begin();
  const bool more = answer(*work_);
  end();
  return more;
}

void Study::prepare(const Crews& crews, const std::atomic<bool>& stop,
                    const ProgressOfSearch& progress) {
  if (searcher_ != nullptr) return;
  begin();
  crew_ = crews.crew(*work_, question_.jobs);
  searcher_ = std::make_unique<Searcher>(*work_, *crew_);
  searcher_->bound_all(&stop, progress);
}

void Study::end() { searcher_.reset(), crew_.reset(), work_.reset(); }

std::vector<Found> Study::run(const Session& session, SearchReport& out) {
  searcher_->tell(session.ears);
  for (const auto& [number, answer] : session.known) searcher_->know(number, answer);
  const auto guesses = [this] {
    std::vector<Layout> layouts;
    if (own_) layouts.push_back(layout_of(own_->strategy, own_->workload));
    const auto rule = rule_of_thumb(open_.scenario, costs_, offered_in(open_));
    if (rule) layouts.push_back(rule->layout);
    return layouts;
  };
  SearchResult result = searcher_->run({.best = question_.best,
                                        .slowest = session.slowest,
                                        .budget = question_.budget,
                                        .stop = &session.stop,
                                        .progress = session.progress,
                                        .guesses = guesses,
                                        .threads = question_.jobs});
  const Certificate& c = result.certificate;
  out.counts += {c.considered, c.refused, c.too_large,   c.too_slow,          c.simulated,
                 c.open,       c.gap,     c.gap_of_last, c.fast_but_too_large};
  add_refusals(result, out);
  untried_ = untried_sizes(space_, work_->layouts());
  if (question_.front && !result.best.empty()) {
    walk_front(result.best.front(), session, out);
  }
  end();
  return std::move(result.best);
}

void Study::add_refusals(const SearchResult& result, SearchReport& out) const {
  const Certificate& c = result.certificate;
  const std::vector<Refusal> all = refusals(*work_, result.refused, question_.jobs);
  const bool nothing_else = c.simulated + c.open == 0;
  for (const Refusal& r : all) {
    out.refusals.push_back({machine_, r.why, r.layouts, nothing_else && all.size() == 1});
  }
}

std::optional<SearchRow> Study::own(std::optional<InputError::Text>& refused) const {
  refused = own_refused_;
  if (!own_) return std::nullopt;
  const Strategy& s = own_->strategy;
  try {
    return row(layout_of(s, own_->workload), 0, s.pipeline);
  } catch (const InputError& error) {
    refused = error.text();
    return std::nullopt;
  }
}

std::optional<SearchRow> Study::guides() const {
  const auto found = rule_of_thumb(open_.scenario, costs_, offered_in(open_));
  if (!found) return std::nullopt;
  return row(found->layout, 0, {});
}

SearchRow Study::row(const Layout& layout, SimTime bound, const PipelineOptions& pieces,
                     const EvaluatedStep* evaluated) const {
  Scenario s = with_layout(open_.scenario, layout);
  s.flow_network = false;  // W006
  s.strategy.pipeline.ends_are_layers = pieces.ends_are_layers;
  s.strategy.pipeline.stage_tp = pieces.stage_tp;
  SearchRow out;
  out.machine = around(machine_, held_);
  out.settings = settings_for(layout, s.strategy, open_, held_);
  if (!s.framework.empty()) {  // which may have values of its own, by the sizes of the layout
    out.settings = that_matter(std::move(out.settings), held_, [&](const Assignments& settings) {
      std::vector<Override> sets = question_.sets;
      for (const Assignments* more : {&std::as_const(out.machine), &settings}) {
        sets.insert(sets.end(), more->begin(), more->end());
      }
      return parse_scenario(question_.text, question_.file, sets);
    });
  }
  out.layout = words_of(layout, s);
  const RunFacts facts = run_facts(s, question_.command_line);
  out.report = evaluated != nullptr ? report_of(*evaluated, s, costs_, facts)
                                    : report_of(s, costs_, facts).report;
  out.bound_s = to_seconds(bound).value;
  const Seconds billion_tokens(1e9 / out.report.tokens_per_s);
  out.energy_kwh_per_billion_tokens = open_.scenario.cluster.rated_energy_kwh(billion_tokens);
  return out;
}

std::vector<SearchRow> Study::rows(const std::vector<Found>& found) const {
  std::vector<SearchRow> out(found.size());
  in_parallel(found.size(), question_.jobs, [&](std::size_t i) { out[i] = row(found[i]); });
  return out;
}

/// The fastest of all, then the fastest that needs a step less memory, and so on; behind the last
/// of these byte by byte, down to the smallest; as far as the budget lasts.
void Study::walk_front(const Found& fastest, const Session& session, SearchReport& out) const {
  std::vector<Found> points = {fastest};
  const std::int64_t before = searcher_->simulated();
  for (double step = kFrontStep;;) {
    const std::int64_t memory = points.back().result.memory.value;
    const auto less = static_cast<std::int64_t>(static_cast<double>(memory) * (1 - step));
    const std::int64_t left = question_.budget - searcher_->simulated();
    const SearchResult next = searcher_->run({.best = 1,
                                              .memory_limit = Bytes(std::min(less, memory - 1)),
                                              .budget = std::max<std::int64_t>(0, left),
                                              .stop = &session.stop,
                                              .progress = session.progress,
                                              .threads = question_.jobs});
    const bool cut = next.certificate.open > 0;  // what was found need not be the fastest
    if (cut) out.front_cut = true;
    if (cut || (next.best.empty() && step == 0)) break;
    if (next.best.empty()) {
      step = 0;
    } else {
      points.push_back(next.best.front());
    }
  }
  out.simulated_for_front += searcher_->simulated() - before;
  for (SearchRow& point : rows(points)) out.front.push_back(std::move(point));
}

}  // namespace plait
