#pragma once
// The work of a search, as questions about layouts that any thread of any process can answer. Each
// process enumerates the same space; a layout is named by its number in it.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/filled_later.h"
#include "search/bounds.h"
#include "search/evaluate.h"
#include "search/kept_steps.h"
#include "search/space.h"

namespace plait {

struct Question {
  enum class Kind : std::int32_t { kBound, kCloserBound, kSimulate };
  Kind kind = Kind::kBound;
  /// Of kSimulate: beyond it memory is not counted.
  SimTime limit = 0;
  std::vector<std::uint32_t> layouts;
};

/// Of one layout. Plain numbers, which travel between processes and into files as they are.
struct Answer {
  static constexpr SimTime kRefused = -1;
  /// Of kSimulate exact; of the bounds at least. Negative: the layout cannot be planned, and of
  /// kSimulate this is -number_of(the error's code).
  SimTime step = kRefused;
  std::int64_t memory = 0;  // bytes of the fullest rank, likewise; 0: not counted
  std::int64_t room = 0;    // of kSimulate: Evaluation::room, bytes

  bool refused() const { return step < 0; }
  Evaluation evaluation() const { return {step, Bytes(memory), Bytes(room)}; }
  bool operator==(const Answer&) const = default;
};

using Answers = FilledLater<Answer>;

/// Hears of a simulation, of question.layouts[i], as soon as it is done; one call at a time.
using Heard = std::function<void(std::size_t i, const Answer&)>;

/// The layouts of a space, and what a process works out about them.
class SearchWork {
 public:
  SearchWork(const Scenario& scenario, const CostModel& costs, const Space& space, int threads);
  SearchWork(const SearchWork&) = delete;
  SearchWork& operator=(const SearchWork&) = delete;

  const Scenario& scenario() const { return scenario_; }
  const CostModel& costs() const { return costs_; }
  const Layouts& layouts() const { return layouts_; }
  /// Of those that were simulated here.
  const KeptSteps& kept() const { return kept_; }
  /// Writes what is to be said of question.layouts[i] to out[i], on `threads` threads; one question
  /// at a time. The same answers for any number of threads.
  void answer(const Question& question, int threads, std::span<Answer> out,
              const Heard& heard = {});

 private:
  void bound(const std::vector<std::uint32_t>& numbers, int threads, std::span<Answer> out);
  void bound_closer(const std::vector<std::uint32_t>& numbers, int threads, std::span<Answer> out);
  void simulate(const Question& question, int threads, std::span<Answer> out, const Heard& heard);
  std::int64_t simulated_calls(const Layout& layout) const;
  Answer simulated(std::uint32_t number, SimTime limit);

  const Scenario& scenario_;
  const CostModel& costs_;
  Bounds bounds_;
  Layouts layouts_;
  KeptSteps kept_;
};

/// Those who answer the questions of a search.
class Crew {
 public:
  virtual ~Crew() = default;
  /// Writes what is to be said of question.layouts[i] to out[i].
  virtual void ask(const Question& question, std::span<Answer> out, const Heard& heard) = 0;
};

/// Threads of this process.
class ThreadCrew : public Crew {
 public:
  ThreadCrew(SearchWork& work, int threads) : work_(work), threads_(threads) {}
  void ask(const Question& question, std::span<Answer> out, const Heard& heard) override {
    work_.answer(question, threads_, out, heard);
  }

 private:
  SearchWork& work_;
  int threads_;
};

}  // namespace plait
