#pragma once
// Those who work at the spaces of a search, one after another.

#include <memory>

#include "search/work.h"

namespace plait {

/// Threads of this process; or others too, where somebody says how.
class Crews {
 public:
  virtual ~Crews() = default;
  /// At this work, with `threads` threads of this process.
  virtual std::unique_ptr<Crew> crew(SearchWork& work, int threads) const {
    return std::make_unique<ThreadCrew>(work, threads);
  }
  /// Whether they may begin with the next space while they work at this one.
  virtual bool may_look_ahead() const { return true; }
  /// They go on to the next space, if there is one to come.
  virtual void dismiss(bool /*for_good*/) const {}
};

}  // namespace plait
