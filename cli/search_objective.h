#pragma once
// What `plait search` makes small over the layouts of all machines, and what it leaves out.

#include <vector>

#include "cli/search_study.h"

namespace plait {

/// The rows of one machine after another.
struct Ranking {
  /// By the objective, then by step time; what is too late is left out.
  void add(const SearchCommand& options, std::vector<SearchRow> rows);
  /// The best so many.
  std::vector<SearchRow> best(const SearchCommand& options);
  /// "NOTHING IN TIME: ..." where layouts fit and all are too late, else "".
  std::string too_late(const SearchCommand& options) const;

 private:
  std::vector<std::pair<double, SearchRow>> rows_;
  double least_days_ = 0;  // of what was left out
};

/// A device's price for an hour, as --price gives it: "2.5" for all, "h100-sxm=2.5" for one kind.
/// 0: not said. Throws InputError G024.
double price_of(const std::vector<std::string>& prices, const std::string& device);

/// Throws InputError G024 for a --price of a device that is neither searched nor in the catalogue,
/// and where the objective needs a price or a power that only some of the machines have.
void require_figures(const SearchCommand& options, const std::vector<const Scenario*>& machines);

}  // namespace plait
