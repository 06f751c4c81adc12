#pragma once
// What `plait search` makes small over the layouts of all machines, and what it leaves out.

#include <vector>

#include "cli/search_study.h"

namespace plait {

/// The rows of one machine after another.
struct Ranking {
  /// By the objective, then by step time; what is too late is left out. Energy is that of the
  /// devices at their rated power.
  void add(const SearchCommand& options, const Scenario& machine, std::vector<SearchRow> rows);
  /// The best so many.
  std::vector<SearchRow> best(const SearchCommand& options);

 private:
  std::vector<std::pair<double, SearchRow>> rows_;
};

/// A device's price for an hour, as --price gives it: "2.5" for all, "h100-sxm=2.5" for one kind.
/// 0: not said. Throws InputError G024.
double price_of(const std::vector<std::string>& prices, const std::string& device);

}  // namespace plait
