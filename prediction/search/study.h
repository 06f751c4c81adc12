#pragma once
// The search on one machine: what the scenario leaves open there, and the reports of what is found.

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/warning.h"
#include "costmodel/costmodel.h"
#include "prediction/search/crews.h"
#include "prediction/search/question.h"
#include "reports/search.h"
#include "scenarios/open.h"
#include "search/freed_sizes.h"
#include "search/held_fields.h"
#include "search/open_space.h"
#include "search/search.h"

namespace plait {

class Study {
 public:
  /// `machine`: what is varied around the search. The question outlives it.
  Study(const SearchQuestion& question, Assignments machine);

  const Scenario& scenario() const { return open_.scenario; }
  const Assignments& machine() const { return machine_; }
  /// What its framework limits the search to.
  std::vector<FrameworkOffer> offers() const { return offers_in(open_, kept_); }
  /// The machine says fields of the layout.
  bool holds_fields() const { return !held_.empty(); }
  /// It is the scenario as written, which `own` is: the machine says what that says itself.
  bool is_written(const OpenScenario& own) const;
  /// Fields that might have several values and have one in all layouts.
  std::vector<HeldField> held_fields() const { return plait::held_fields(open_, space_); }
  /// Where it has no layouts: sizes that keep them away.
  std::vector<FreedSize> freed() const { return freed_sizes(space_in(open_.scenario, space_)); }
  /// But for fields without effect (W001), which the layout decides: idle_in_best.
  Warnings warnings() const;
  /// What is searched, to the last bit: spaces of one text have the same layouts with the same
  /// figures.
  std::string identity() const;

  /// A layout that was simulated here, as --set takes it.
  Assignments settings(std::uint32_t number) const;

  /// What to listen to while it runs, and how to end it early.
  struct Session {
    const std::atomic<bool>& stop;
    ProgressOfSearch progress;
    SearchEars ears;
    std::vector<std::pair<std::uint32_t, Answer>> known;
    SimTime slowest = std::numeric_limits<SimTime>::max();  // that is looked for
  };
  /// Makes its layouts and bounds them, which needs nothing that other searches find. Again, it
  /// does nothing.
  void prepare(const Crews& crews, const std::atomic<bool>& stop,
               const ProgressOfSearch& progress = {});
  /// The leader's part, once it is prepared: the best, fastest first. `out` is told the counts and
  /// the front.
  std::vector<Found> run(const Session& session, SearchReport& out);
  /// Of a search that was run: sizes that it was asked for and did not try.
  const std::vector<UntriedSize>& untried() const { return untried_; }
  /// Of those who take part in another process's search: lends `answer` the work, returns what it
  /// does.
  bool follow(const std::function<bool(SearchWork&)>& answer);

  /// The report of a layout that was found here.
  SearchRow row(const Found& found) const {
    return row(found.layout, found.bound, {}, found.step.get());
  }
  /// Of the scenario as it is written; nothing where it leaves fields open, or cannot be planned,
  /// of which `refused` is told.
  std::optional<SearchRow> own(std::optional<InputError::Text>& refused) const;
  /// Of what the guides say; nothing where they have no answer.
  std::optional<SearchRow> guides() const;

 private:
  void add_refusals(const SearchResult& result, SearchReport& out) const;
  /// `pieces`: what the scenario itself says of its stages and no layout does.
  SearchRow row(const Layout& layout, SimTime bound, const PipelineOptions& pieces,
                const EvaluatedStep* evaluated = nullptr) const;
  std::vector<SearchRow> rows(const std::vector<Found>& found) const;
  void walk_front(const Found& fastest, const Session& session, SearchReport& out) const;
  void begin();
  void end();

  const SearchQuestion& question_;
  Assignments machine_;
  OpenScenario open_;
  std::vector<std::string> held_;  // fields that are searched, and that machine_ says
  std::vector<std::string> kept_;  // these, and those that the question keeps
  Space space_;
  CostModel costs_;
  std::optional<Scenario> own_;
  std::optional<InputError::Text> own_refused_;  // where there is none
  std::vector<UntriedSize> untried_;
  // While it is searched:
  std::unique_ptr<SearchWork> work_;
  std::unique_ptr<Crew> crew_;
  std::unique_ptr<Searcher> searcher_;
};

}  // namespace plait
