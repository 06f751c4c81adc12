#include "search/search.h"

#include <algorithm>
#include <optional>

#include "core/parallel.h"

namespace plait {
namespace {

/// A layout that may be among the best.
struct Candidate {
  SimTime bound = 0;
  std::uint32_t number = 0;  // in the order of the space
  bool walked = false;       // the closer bound is known
  /// As a heap has its largest on top: what is to be simulated first.
  bool operator<(const Candidate& o) const {
    return bound != o.bound ? bound > o.bound : number > o.number;
  }
};

/// So many are simulated before the best are looked at again, and so many bounds made closer,
/// whatever the number of threads.
constexpr std::size_t kSimulations = 16, kWalks = 256;
/// Layouts that a thread bounds at a time.
constexpr std::size_t kPiece = 4096;
constexpr SimTime kRefused = -1, kTooLarge = -2;

class Search {
 public:
  Search(const Scenario& scenario, const CostModel& costs, Bounds& bounds,
         const SearchOptions& options)
      : scenario_(scenario), costs_(costs), bounds_(bounds), options_(options) {}

  SearchResult run(const Space& space) {
    bound_all(space);
    std::make_heap(heap_.begin(), heap_.end());
    while (!heap_.empty() && heap_.front().bound <= limit() && !interrupted()) {
      heap_.front().walked ? simulate(take_round(true, std::min(kSimulations, budget_left())))
                           : walk(take_round(false, kWalks));
    }
    close();
    return std::move(out_);
  }

 private:
  void bound_all(const Space& space) {
    const SpaceOf of{space, scenario_.model, scenario_.workload, scenario_.cluster.world_size(),
                     layout_of(scenario_.strategy, scenario_.workload)};
    for_each_layout(of, [&](const Layout& layout) { layouts_.push_back(layout); });
    bounds_.prepare(layouts_, options_.threads);
    std::vector<SimTime> steps(layouts_.size());
    const Bytes capacity = most_memory();
    const std::size_t pieces = (layouts_.size() + kPiece - 1) / kPiece;
    in_parallel(pieces, options_.threads, [&](std::size_t piece) {
      const std::size_t end = std::min(layouts_.size(), (piece + 1) * kPiece);
      for (std::size_t i = piece * kPiece; i < end; ++i) steps[i] = bound(layouts_[i], capacity);
    });
    Certificate& c = out_.certificate;
    c.considered = static_cast<std::int64_t>(layouts_.size());
    for (std::size_t i = 0; i < layouts_.size(); ++i) {
      if (steps[i] == kRefused) {
        ++c.refused;
      } else if (steps[i] == kTooLarge) {
        ++c.too_large;
      } else {
        heap_.push_back({steps[i], static_cast<std::uint32_t>(i), false});
      }
    }
  }
  /// Of the step time, or why there is none.
  SimTime bound(const Layout& layout, Bytes capacity) const {
    const std::optional<LowerBound> found = bounds_(layout);
    if (!found) return kRefused;
    return found->memory > capacity ? kTooLarge : found->step;
  }

  Bytes most_memory() const {
    Bytes out;
    for (std::size_t k = 0; k < scenario_.cluster.kinds(); ++k) {
      out = std::max(out, scenario_.cluster.kind(k).device.memory);
    }
    return limited() ? std::min(out, options_.memory_limit) : out;
  }
  bool limited() const { return options_.memory_limit.value > 0; }
  bool fits(const Evaluation& e) const {
    return e.fits() && (!limited() || e.memory <= options_.memory_limit);
  }
  const Layout& layout(const Candidate& c) const { return layouts_[c.number]; }
  /// A layout slower than this is not among the best.
  SimTime limit() const {
    if (out_.best.size() < options_.best) return std::numeric_limits<SimTime>::max();
    return out_.best.back().result.step;
  }
  std::size_t budget_left() const {
    return static_cast<std::size_t>(options_.budget - simulations_);
  }
  bool interrupted() const {
    return simulations_ >= options_.budget || (options_.stop != nullptr && *options_.stop);
  }

  /// From the top of the heap, as long as they are alike and may be among the best.
  std::vector<Candidate> take_round(bool walked, std::size_t most) {
    std::vector<Candidate> round;
    while (round.size() < most && !heap_.empty() && heap_.front().walked == walked &&
           heap_.front().bound <= limit()) {
      std::pop_heap(heap_.begin(), heap_.end());
      round.push_back(heap_.back());
      heap_.pop_back();
    }
    return round;
  }
  void walk(std::vector<Candidate> round) {
    in_parallel(round.size(), options_.threads, [&](std::size_t i) {
      round[i].bound = std::max(round[i].bound, bounds_.closer(layout(round[i])));
      round[i].walked = true;
    });
    for (const Candidate& c : round) {
      heap_.push_back(c);
      std::push_heap(heap_.begin(), heap_.end());
    }
  }

  void simulate(const std::vector<Candidate>& round) {
    std::vector<std::optional<Evaluation>> results(round.size());
    const SimTime known = limit();
    in_parallel(round.size(), options_.threads, [&](std::size_t i) {
      results[i] = evaluate(scenario_, costs_, layout(round[i]), known);
    });
    for (std::size_t i = 0; i < round.size(); ++i) take(round[i], results[i], known);
    simulations_ += static_cast<std::int64_t>(round.size());
    if (options_.progress) {
      options_.progress(simulations_, out_.best.empty() ? 0 : out_.best.front().result.step);
    }
  }

  void take(const Candidate& candidate, const std::optional<Evaluation>& result, SimTime known) {
    Certificate& c = out_.certificate;
    if (!result) {
      ++c.refused;
      return;
    }
    if (result->step > known) {
      ++c.simulated;
      return;
    }
    if (!fits(*result)) {
      ++c.does_not_fit;
      return;
    }
    ++c.simulated;
    const auto before = [](const Found& a, const Found& b) {
      return std::pair(a.result.step, a.number) < std::pair(b.result.step, b.number);
    };
    const Found found{layout(candidate), *result, candidate.bound, candidate.number};
    std::vector<Found>& best = out_.best;
    best.insert(std::upper_bound(best.begin(), best.end(), found, before), found);
    if (best.size() > options_.best) best.pop_back();
  }

  /// What is left is too slow, or undecided.
  void close() {
    Certificate& c = out_.certificate;
    for (const Candidate& left : heap_) ++(left.bound > limit() ? c.too_slow : c.open);
    if (c.open == 0 || out_.best.empty()) return;
    const auto best = static_cast<double>(out_.best.front().result.step);
    c.gap = std::max(0.0, 1 - static_cast<double>(heap_.front().bound) / best);
  }

  const Scenario& scenario_;
  const CostModel& costs_;
  Bounds& bounds_;
  const SearchOptions& options_;
  std::vector<Layout> layouts_;
  std::vector<Candidate> heap_;
  std::int64_t simulations_ = 0;
  SearchResult out_;
};

}  // namespace

SearchResult search(const Scenario& scenario, const CostModel& costs, Bounds& bounds,
                    const Space& space, const SearchOptions& options) {
  return Search(scenario, costs, bounds, options).run(space);
}

}  // namespace plait
