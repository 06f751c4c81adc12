#include "search/search.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "search/frontier.h"

namespace plait {
namespace {

/// How many are simulated before the best are looked at again, or bounds made closer, whoever does
/// it, after `done` of them: a few at first, of which few are in vain; then as many as before; of
/// long searches this share, for many hands.
struct Rounds {
  std::int64_t first, usual;
  std::int64_t after(std::int64_t done) const {
    constexpr std::int64_t kShare = 8;
    return std::max(std::clamp(done, first, usual), done / kShare);
  }
};
constexpr Rounds kSimulations = {.first = 4, .usual = 16};
constexpr Rounds kWalks = {.first = 16, .usual = 256};
constexpr std::chrono::milliseconds kBetweenReports{200};
/// Layouts that are bounded before it is asked whether to stop.
constexpr std::size_t kBoundsBetweenLooks = std::size_t{1} << 18;
/// Of what is not bounded: a bound of any layout.
constexpr Answer kNothingKnown = {.step = 0, .memory = 0, .room = 0};

}  // namespace

/// One search.
class Run {
 public:
  Run(Searcher& searcher, const SearchOptions& options)
      : s_(searcher),
        options_(options),
        left_(searcher.bounds_, capacity().value, options.threads),
        known_before_(searcher.simulated()) {}

  SearchResult run() {
    while (may_improve() && !interrupted()) {
      if (const std::vector<Candidate> round = walked_round(); !round.empty()) simulate(round);
    }
    close();
    for (Found& f : out_.best) {
      f.step = s_.work_.kept().find(static_cast<std::uint32_t>(f.number));
    }
    return std::move(out_);
  }

 private:
  Bytes capacity() const {
    const Bytes most = most_memory(s_.work_.scenario().cluster);
    return limited() ? std::min(most, options_.memory_limit) : most;
  }
  bool limited() const { return options_.memory_limit.value > 0; }
  bool fits(const Evaluation& e) const {
    return e.fits() && (!limited() || e.memory <= options_.memory_limit);
  }
  bool walked(const Candidate& c) const { return s_.walked_[c.number] != 0; }
  /// A layout slower than this is not among the best.
  SimTime limit() const {
    if (out_.best.size() < options_.best) return options_.slowest;
    return out_.best.back().result.step;
  }
  /// The first has as many as are asked for at least: nothing is too slow before these are known.
  std::int64_t round_of_simulations() const {
    const auto asked = static_cast<std::int64_t>(options_.best);
    const std::int64_t size =
        simulations_ == 0 ? std::max(asked, kSimulations.first) : kSimulations.after(simulations_);
    return std::min(size, options_.budget - spent());
  }
  std::int64_t spent() const { return s_.simulated() - known_before_; }
  bool stopped() const { return options_.stop != nullptr && *options_.stop; }
  bool interrupted() const { return spent() >= options_.budget || stopped(); }

  /// The first of those left may be among the best.
  bool may_improve() const { return !left_.empty() && left_.first().bound <= limit(); }
  /// The next to be simulated, by their closer bounds.
  std::vector<Candidate> walked_round() {
    std::vector<Candidate> round;
    for (const std::int64_t most = round_of_simulations();
         std::ssize(round) < most && may_improve() && !stopped();) {
      walked(left_.first()) ? round.push_back(left_.take_first()) : walk(unwalked_round());
    }
    return round;
  }
  std::vector<Candidate> unwalked_round() {
    std::vector<Candidate> round;
    for (const std::int64_t most = kWalks.after(walks_);
         std::ssize(round) < most && may_improve() && !walked(left_.first());) {
      round.push_back(left_.take_first());
    }
    return round;
  }
  void walk(std::vector<Candidate> round) {
    Question q{.kind = Question::Kind::kCloserBound, .layouts = {}};
    for (const Candidate& c : round) q.layouts.push_back(c.number);
    Answers closer(q.layouts.size());
    s_.crew_.ask(q, closer, {});
    for (std::size_t i = 0; i < round.size(); ++i) {
      Candidate& c = round[i];
      c.bound = std::max(c.bound, closer[i].step);
      s_.bounds_[c.number].step = c.bound;
      s_.walked_[c.number] = 1;
      left_.put_back(c);
    }
    walks_ += std::ssize(round);
  }

  void simulate(const std::vector<Candidate>& round) {
    const SimTime known = limit();
    ask(round, known);
    std::vector<Simulated> news;
    for (const Candidate& c : round) {
      const Answer& answer = s_.known_.at(c.number);
      take(c, answer, known);
      if (s_.told_.insert(c.number).second) news.push_back({c.number, c.bound, answer});
    }
    if (s_.ears_.in_order && !news.empty()) s_.ears_.in_order(news);
    simulations_ += static_cast<std::int64_t>(round.size());
    report();
  }
  /// For those of the round that are not known.
  void ask(const std::vector<Candidate>& round, SimTime known) {
    const SimTime all = std::numeric_limits<SimTime>::max();
    Question q{Question::Kind::kSimulate, s_.ears_.all_memory ? all : known, {}};
    for (const Candidate& c : round) {
      const auto found = s_.known_.find(c.number);
      if (found == s_.known_.end() || lacks_memory(found->second, known)) {
        q.layouts.push_back(c.number);
      }
    }
    Answers answers(q.layouts.size());
    s_.crew_.ask(q, answers, [&](std::size_t i, const Answer& answer) {
      if (s_.ears_.at_once) s_.ears_.at_once(q.layouts[i], answer);
    });
    for (std::size_t i = 0; i < answers.size(); ++i) s_.known_[q.layouts[i]] = answers[i];
  }
  /// A search with another limit had no need of it.
  static bool lacks_memory(const Answer& answer, SimTime known) {
    return !answer.refused() && answer.step <= known && answer.memory == 0;
  }

  void take(const Candidate& candidate, const Answer& answer, SimTime known) {
    Certificate& c = out_.certificate;
    if (answer.refused()) {
      ++c.refused;
      out_.refused.emplace_back(candidate.number, answer);
      return;
    }
    ++c.simulated;
    if (answer.step > known) return;
    const Evaluation result = answer.evaluation();
    if (!fits(result)) {
      ++c.fast_but_too_large;
      return;
    }
    const auto before = [](const Found& a, const Found& b) {
      return std::pair(a.result.step, a.number) < std::pair(b.result.step, b.number);
    };
    const Found found{.layout = s_.work_.layouts()[candidate.number],
                      .result = result,
                      .bound = candidate.bound,
                      .number = candidate.number};
    std::vector<Found>& best = out_.best;
    best.insert(std::upper_bound(best.begin(), best.end(), found, before), found);
    if (best.size() > options_.best) best.pop_back();
  }

  void report() {
    const auto now = std::chrono::steady_clock::now();
    if (!options_.progress || now < reported_ + kBetweenReports) return;
    reported_ = now;
    const std::int64_t left = left_.count(limit()).within;
    options_.progress({.simulated = simulations_,
                       .left = left,
                       .best = out_.best.empty() ? 0 : out_.best.front().result.step,
                       .memory_limit = options_.memory_limit});
  }

  /// Where it ends early: layouts that are thought to be good and are left are simulated now.
  void try_guesses() {
    if (!options_.guesses || left_.count(limit()).within == 0) return;
    std::vector<Candidate> round;
    for (const Layout& guess : options_.guesses()) {
      const std::optional<std::uint32_t> number = number_of(guess);
      const std::optional<Candidate> open = number ? left_.take(*number, limit()) : std::nullopt;
      if (open) round.push_back(*open);
    }
    if (!round.empty()) simulate(round);
  }
  std::optional<std::uint32_t> number_of(const Layout& layout) const {
    const Layouts& all = s_.work_.layouts();
    const auto same = [&](const Layout& l) { return same_plan(layout, l); };
    const auto at = std::ranges::find_if(all, same);
    if (at == all.end()) return std::nullopt;
    return static_cast<std::uint32_t>(at - all.begin());
  }

  /// What is left is too slow, or undecided.
  void close() {
    try_guesses();
    Certificate& c = out_.certificate;
    const Frontier::Counts left = left_.count(limit());
    c.considered = static_cast<std::int64_t>(s_.bounds_.size());
    c.refused += left_.refused();
    c.too_large = left_.too_large();
    c.too_slow = left.beyond;
    c.open = left.within;
    if (left_.refused() > 0) list_unbounded();
    if (c.open == 0) return;
    c.gap = gap_to(out_.best.empty() ? limit() : out_.best.front().result.step);
    c.gap_of_last = gap_to(out_.best.empty() ? limit() : out_.best.back().result.step);
  }
  /// How much faster than `step` what is left may be.
  double gap_to(SimTime step) const {
    const SimTime least = left_.first().bound;
    const bool found = step != std::numeric_limits<SimTime>::max();
    if (!found || least == kNothingKnown.step) return std::numeric_limits<double>::infinity();
    return std::max(0.0, 1 - static_cast<double>(least) / static_cast<double>(step));
  }
  void list_unbounded() {
    for (std::uint32_t i = 0; i < s_.bounds_.size(); ++i) {
      if (s_.bounds_[i].refused()) out_.refused.emplace_back(i, s_.bounds_[i]);
    }
  }

  Searcher& s_;
  const SearchOptions& options_;
  Frontier left_;              // not decided
  std::int64_t known_before_;  // to the searcher
  std::int64_t simulations_ = 0, walks_ = 0;
  std::chrono::steady_clock::time_point reported_ = {};
  SearchResult out_;
};

Searcher::Searcher(const SearchWork& work, Crew& crew, SearchEars ears)
    : work_(work), crew_(crew), ears_(std::move(ears)) {}

void Searcher::bound_all(const std::atomic<bool>* stop, const ProgressOfSearch& progress) {
  const std::size_t all = work_.layouts().size();
  if (bounds_.size() != all) bounds_ = Answers(all), walked_.assign(all, 0);
  for (; bounded_ < all; bounded_ = std::min(all, bounded_ + kBoundsBetweenLooks)) {
    if (stop != nullptr && *stop) {
      std::fill(bounds_.begin() + static_cast<std::ptrdiff_t>(bounded_), bounds_.end(),
                kNothingKnown);
      return;
    }
    if (progress && bounded_ > 0) {
      progress({.bounded = static_cast<std::int64_t>(bounded_),
                .layouts = static_cast<std::int64_t>(all)});
    }
    Question q;
    q.layouts.resize(std::min(all - bounded_, kBoundsBetweenLooks));
    std::iota(q.layouts.begin(), q.layouts.end(), static_cast<std::uint32_t>(bounded_));
    crew_.ask(q, std::span(bounds_).subspan(bounded_, q.layouts.size()), {});
  }
}

SearchResult Searcher::run(const SearchOptions& options) {
  bound_all(options.stop, options.progress);
  return Run(*this, options).run();
}

SearchResult search(const Scenario& scenario, const CostModel& costs, const Space& space,
                    const SearchOptions& options, int threads) {
  SearchWork work(scenario, costs, space, threads);
  ThreadCrew crew(work, threads);
  SearchOptions with_threads = options;
  with_threads.threads = threads;
  return Searcher(work, crew).run(with_threads);
}

}  // namespace plait
