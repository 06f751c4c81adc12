#pragma once
// The layouts of a search that are not decided, the most promising first. Many are entered at once,
// by several threads; few are ever taken out.

#include <cstdint>
#include <optional>
#include <vector>

#include "search/work.h"

namespace plait {

/// A layout that may be among the best.
struct Candidate {
  SimTime bound = 0;
  std::uint32_t number = 0;  // in the order of the space
  /// As a heap has its largest on top: what is to be simulated first.
  bool operator<(const Candidate& o) const {
    return bound != o.bound ? bound > o.bound : number > o.number;
  }
};

class Frontier {
 public:
  /// Enters all layouts but those that are refused, and those whose bound of memory is beyond
  /// `memory` bytes. bounds[i]: of layout i.
  Frontier(const Answers& bounds, std::int64_t memory, int threads);

  std::int64_t refused() const { return refused_; }
  std::int64_t too_large() const { return too_large_; }

  bool empty() const { return near_.empty() && heaps_.empty(); }
  /// The smallest bound; of equal ones the smallest number.
  const Candidate& first() const { return of_near() ? near_.front() : heaps_.front().front(); }
  Candidate take_first();
  /// This layout, where it is among them with a bound up to `limit`. Looks at all of them.
  std::optional<Candidate> take(std::uint32_t number, SimTime limit);
  void put_back(const Candidate& candidate);

  /// Candidates with a bound up to `limit`, and beyond it.
  struct Counts {
    std::int64_t within = 0, beyond = 0;
  };
  Counts count(SimTime limit) const;

 private:
  using Heap = std::vector<Candidate>;
  static bool behind(const Heap& a, const Heap& b) { return a.front() < b.front(); }
  bool of_near() const {
    return !near_.empty() && (heaps_.empty() || heaps_.front().front() < near_.front());
  }

  std::vector<Heap> heaps_;  // a heap of them by the first of each; none is empty
  Heap near_;                // what was put back
  std::int64_t refused_ = 0, too_large_ = 0;
};

}  // namespace plait
