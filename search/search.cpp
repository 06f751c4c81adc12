#include "search/search.h"

#include <algorithm>
#include <optional>
#include <thread>

namespace plait {
namespace {

/// A layout that may be among the best.
struct Candidate {
  SimTime bound = 0;
  bool walked = false;      // the closer bound is known
  std::int64_t number = 0;  // in the order of the space
  Layout layout;
  /// As a heap has its largest on top: what is to be simulated first.
  bool operator<(const Candidate& o) const {
    return bound != o.bound ? bound > o.bound : number > o.number;
  }
};

/// So many are simulated before the best are looked at again, and so many bounds made closer,
/// whatever the number of threads.
constexpr std::size_t kSimulations = 16, kWalks = 256;

class Search {
 public:
  Search(const Scenario& scenario, const CostModel& costs, const SearchOptions& options)
      : scenario_(scenario), costs_(costs), options_(options), bounds_(scenario, costs) {}

  SearchResult run(const Space& space) {
    bound_all(space);
    std::make_heap(heap_.begin(), heap_.end());
    while (!heap_.empty() && heap_.front().bound <= limit() && !interrupted()) {
      heap_.front().walked ? simulate(take_round(true, kSimulations))
                           : walk(take_round(false, kWalks));
    }
    close();
    return std::move(out_);
  }

 private:
  void bound_all(const Space& space) {
    Bytes capacity;
    for (std::size_t k = 0; k < scenario_.cluster.kinds(); ++k) {
      capacity = std::max(capacity, scenario_.cluster.kind(k).device.memory);
    }
    const SpaceOf of{space, scenario_.model, scenario_.workload, scenario_.cluster.world_size(),
                     layout_of(scenario_.strategy, scenario_.workload)};
    Certificate& c = out_.certificate;
    for_each_layout(of, [&](const Layout& layout) {
      const std::int64_t number = c.considered++;
      const std::optional<LowerBound> bound = bounds_(layout);
      if (!bound) {
        ++c.refused;
      } else if (bound->memory > capacity) {
        ++c.too_large;
      } else {
        heap_.push_back({bound->step, false, number, layout});
      }
    });
  }

  /// A layout slower than this is not among the best.
  SimTime limit() const {
    if (out_.best.size() < options_.best) return std::numeric_limits<SimTime>::max();
    return out_.best.back().result.step;
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
  void in_parallel(std::size_t n, const std::function<void(std::size_t)>& work) const {
    std::atomic<std::size_t> next{0};
    const auto loop = [&] {
      for (std::size_t i = next++; i < n; i = next++) work(i);
    };
    std::vector<std::jthread> helpers;
    for (int t = 1; t < options_.threads; ++t) helpers.emplace_back(loop);
    loop();
  }

  void walk(std::vector<Candidate> round) {
    in_parallel(round.size(), [&](std::size_t i) {
      round[i].bound = std::max(round[i].bound, bounds_.closer(round[i].layout));
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
    in_parallel(round.size(), [&](std::size_t i) {
      results[i] = evaluate(scenario_, costs_, round[i].layout, known);
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
    if (!result->fits()) {
      ++c.does_not_fit;
      return;
    }
    ++c.simulated;
    const auto before = [](const Found& a, const Found& b) {
      return std::pair(a.result.step, a.number) < std::pair(b.result.step, b.number);
    };
    const Found found{candidate.layout, *result, candidate.bound, candidate.number};
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
  const SearchOptions& options_;
  Bounds bounds_;
  std::vector<Candidate> heap_;
  std::int64_t simulations_ = 0;
  SearchResult out_;
};

}  // namespace

SearchResult search(const Scenario& scenario, const CostModel& costs, const Space& space,
                    const SearchOptions& options) {
  return Search(scenario, costs, options).run(space);
}

}  // namespace plait
