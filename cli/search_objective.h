#pragma once
// What `plait search` makes small over the layouts of all machines, and what it leaves out.

#include <set>
#include <string>
#include <vector>

#include "cli/search_study.h"

namespace plait {

/// A layout found on one of the machines that are searched.
struct Ranked {
  std::size_t study = 0;
  Found found;
  double score = 0;           // the objective, of which the best has least
  double time_per_token = 0;  // s
};

/// What is found on one machine after another, best first: by the objective, then by time per
/// token, then in the order of machines and of layouts. What two rules place alike counts once.
class Ranking {
 public:
  explicit Ranking(const SearchCommand& options) : options_(options) {}

  void add(const Scenario& machine, std::size_t study, const std::vector<Found>& found);
  /// The longest step with which a layout of this machine can still be among the best that are
  /// asked for.
  SimTime slowest(const Scenario& machine) const;
  /// The best that are asked for, or all where a deadline may leave some of them out.
  std::vector<Ranked> reported() const;

 private:
  bool is_new(const Scenario& machine, const Layout& layout);

  const SearchCommand& options_;
  std::vector<Ranked> all_;
  std::set<std::string> placed_;  // by a rule: machine, layout and devices
};

/// By the objective, then by step time, of steps that are not too late.
bool is_better(const SearchCommand& options, const SearchRow& row, const SearchRow& other);

/// Leaves out what does not train in time, and all but the best that are asked for. Returns
/// "NOTHING IN TIME: ..." where all are too late, else "".
std::string leave_the_best(const SearchCommand& options, std::vector<SearchRow>& rows);

/// What a device of the machine costs for an hour, the mean over all: as --price gives it, "2.5"
/// for all, "h100-sxm=2.5" for one kind, else as the scenario does. 0: not said. Throws InputError
/// G024, also where only some of its kinds have a price.
double price_of(const std::vector<std::string>& prices, const Scenario& machine);

/// W001 for each --price of a device that no machine has.
std::vector<std::string> idle_prices(const std::vector<std::string>& prices,
                                     const std::vector<const Scenario*>& machines);

/// Throws InputError G024 for a --price of a device that is neither searched nor in the catalogue,
/// and where the objective needs a price that only some of the machines have, or a power that not
/// all have.
void require_figures(const SearchCommand& options, const std::vector<const Scenario*>& machines);

}  // namespace plait
