#pragma once
// The answer of a search: the best layouts, why each beats the next, and the proof.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/vary.h"
#include "reports/report.h"
#include "reports/terminal.h"

namespace plait {

struct SearchRow {
  Assignments machine;   // what was varied around the search, {"cluster.nodes", "8"}
  Assignments settings;  // of the layout, as --set takes them: what the scenario needs to become it
  std::string layout;    // in words, with what the report's line leaves out
  Report report;
  double bound_s = 0;  // what was known of the step time before the simulation
  /// Of all devices at their rated power; 0: that is not known.
  double energy_kwh_per_billion_tokens = 0;
};

/// What became of each layout; the counts up to `open` add up to `considered`.
struct SearchCounts {
  std::int64_t considered = 0, refused = 0, too_large = 0, too_slow = 0, simulated = 0, open = 0;
  /// An undecided layout may be faster than the best by this fraction at most; infinite: none was
  /// found. The same of the last one found.
  double gap = 0, gap_of_last = 0;
  /// Of the simulated: as fast as the best then known, but too large.
  std::int64_t fast_but_too_large = 0;
  SearchCounts& operator+=(const SearchCounts& other);
};

/// Of a field.
struct SearchedValues {
  std::string path;
  std::vector<std::string> values;
};

/// An error that refuses layouts, of one machine.
struct SearchRefusal {
  Assignments machine;
  InputError::Text why;
  std::int64_t layouts = 0;
  bool all = false;  // that might be among the best
};

struct SearchReport {
  std::string scenario, model, cluster, objective;
  RunFacts run;
  std::vector<SearchRow> best;                  // best first
  std::optional<SearchRow> own, rule_of_thumb;  // what the scenario says itself; the guides
  std::optional<InputError::Text> own_refused;  // why there is no `own`, where it is asked for
  std::string framework;                        // by whose profile fields are limited; "": none are
  std::vector<SearchedValues> limits;           // all that is searched, as it has no more
  std::vector<SearchedValues> untried;          // asked for, and no layout has them
  std::vector<SearchRow> front;                 // pareto_front of all, if asked for
  double tokens = 0;                            // to be trained on; 0: not said
  SearchCounts counts;
  std::int64_t simulated_for_front = 0;  // besides those of `counts`
  std::vector<SearchRefusal> refusals;
  Assignments held;            // fields that all layouts have as written, and might have otherwise
  std::string nothing;         // why `best` is empty although layouts fit, or might
  bool own_is_best = false;    // the first of `best` is `own`, which is not among those searched
  bool flow_asked = false;     // but layouts are simulated with the analytic network
  std::int64_t not_begun = 0;  // machines that were not searched: it was interrupted before
  bool front_cut = false;      // interrupted, or out of budget, before the last of the front
  bool interrupted = false;    // before its end
};

/// Points of a front between the best and the smallest have this share less memory than the one
/// before at least, so that few are to be looked for.
constexpr double kFrontStep = 0.05;

/// Those that no other beats in time per token, memory, GPUs and cost per token at once: fastest
/// first, each once. The cost is the price, or without one GPU-seconds.
std::vector<SearchRow> pareto_front(std::vector<SearchRow> rows);

/// Of the whole training, with what fails; 0: it is not described.
double days_of_training(const Report& report);

/// What is said below the proof: what limits the search, why layouts are refused, the network.
std::vector<Line> search_notes(const SearchReport& report, int width);
/// Which layouts the front has.
std::string front_words(const SearchReport& report);
/// "held as written: tensor.overlap weight-grad, ...", or "".
std::string held_words(const SearchReport& report);
/// Where nothing fits: those of the held fields that would save memory, as options that search
/// them. Empty where there are none.
std::string saving_words(const SearchReport& report);

std::string search_text(const SearchReport& report, const TerminalStyle& style);
std::string search_json(const SearchReport& report);
std::string search_csv(const SearchReport& report);
/// Step time over memory of `front`, a curve for each machine, as SVG.
std::string search_svg(const SearchReport& report);

/// "nodes 16, preset hgx-h100"
std::string machine_words(const Assignments& machine);

}  // namespace plait
