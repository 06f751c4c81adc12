#pragma once
// The operators of all threads of a trace in one list, with what each is within: time on its thread
// says so.

#include <cstdint>
#include <optional>
#include <vector>

#include "reports/profile/kineto.h"

namespace plait {

class OperatorTree {
 public:
  explicit OperatorTree(const KinetoTrace& trace);

  using Index = std::int32_t;
  static constexpr Index kNone = -1;

  Index size() const { return static_cast<Index>(operators_.size()); }
  const TraceOperator& at(Index i) const { return *operators_[static_cast<std::size_t>(i)]; }
  Index parent(Index i) const { return parents_[static_cast<std::size_t>(i)]; }
  /// The first behind all that is within this one.
  Index behind(Index i) const;
  bool same_thread(Index a, Index b) const { return thread_of(a) == thread_of(b); }
  /// Whether it or anything within it launched an event.
  bool launches(Index i) const { return launches_[static_cast<std::size_t>(i)]; }
  /// The innermost operator of an event; kNone where the trace has none.
  Index launching(const TraceEvent& event) const;
  /// The operator whose node has this number: of those that saw the number the last one, which used
  /// it up. kNone where two threads used the number.
  Index forward_of(std::int32_t sequence) const;
  /// The nearest node of autograd around it, or itself.
  Index node_around(Index i) const;

 private:
  struct Numbered {
    std::int32_t number = 0;
    Index index = kNone;
  };
  void nest(Index begin, Index end);
  void find_launching(const KinetoTrace& trace);
  std::size_t thread_of(Index i) const;

  std::vector<const TraceOperator*> operators_;
  std::vector<Index> begins_;  // of threads
  std::vector<Index> parents_;
  std::vector<bool> launches_;
  std::vector<Numbered> externals_;  // of what launched events, by number
  std::vector<Numbered> sequences_;  // of what ran forward, by number
};

}  // namespace plait
