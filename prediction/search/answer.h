#pragma once
// The answer of a search: its machines one after another, and what is said of the best of all.

#include <atomic>
#include <functional>
#include <vector>

#include "prediction/search/machines.h"
#include "prediction/search/ranking.h"
#include "prediction/search/records.h"

namespace plait {

/// Who takes part, and who watches and may end it early.
struct SearchControl {
  const Crews& crews;
  const std::atomic<bool>& stop;
  ProgressOfSearch progress;
};

/// Searches the machines. `report` is told the counts, the front and whether it came to its end.
/// Returns what report_rows is to be given.
std::vector<Ranked> search_machines(const SearchQuestion& question, const Machines& machines,
                                    SearchRecords& records, const SearchControl& control,
                                    SearchReport& report);

/// The rows of the best, and what they are compared with. Throws InputError where nothing is found
/// for one reason that no layout escapes.
void report_rows(const SearchQuestion& question, const Machines& machines,
                 const std::vector<Ranked>& best, SearchReport& report);

}  // namespace plait
