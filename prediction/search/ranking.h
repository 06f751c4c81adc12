#pragma once
// What a search makes small over the layouts of all machines, and what it leaves out.

#include <set>
#include <string>
#include <vector>

#include "prediction/search/question.h"
#include "reports/search.h"
#include "search/search.h"

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
  explicit Ranking(const SearchQuestion& question) : question_(question) {}

  void add(const Scenario& machine, std::size_t study, const std::vector<Found>& found);
  /// The longest step with which a layout of this machine can still be among the best that are
  /// asked for.
  SimTime slowest(const Scenario& machine) const;
  /// The best that are asked for, or all where a deadline may leave some of them out.
  std::vector<Ranked> reported() const;

 private:
  bool is_new(const Scenario& machine, const Layout& layout);

  const SearchQuestion& question_;
  std::vector<Ranked> all_;
  std::set<std::string> placed_;  // by a rule: machine, layout and devices
};

/// By the objective, then by step time, of steps that are not too late.
bool is_better(const SearchQuestion& question, const SearchRow& row, const SearchRow& other);

/// Leaves out what does not train in time.
void leave_in_time(const SearchQuestion& question, std::vector<SearchRow>& rows);

/// The same, and leaves out all but the best that are asked for. Returns
/// "NOTHING IN TIME: ..." where all are too late, else "".
std::string leave_the_best(const SearchQuestion& question, std::vector<SearchRow>& rows);

}  // namespace plait
