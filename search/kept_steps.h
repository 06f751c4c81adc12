#pragma once
// The steps of the fastest layouts that a process has simulated, for those who report them.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "core/time.h"
#include "search/evaluate.h"

namespace plait {

/// Safe to use from several threads.
class KeptSteps {
 public:
  /// Of layout `number`; kept while few are faster. Null: nothing to keep.
  void offer(std::uint32_t number, std::shared_ptr<const EvaluatedStep> step);
  /// Null where it is not kept.
  std::shared_ptr<const EvaluatedStep> find(std::uint32_t number) const;

 private:
  /// As many as a search finds where it is not asked for more; each may take megabytes.
  static constexpr std::size_t kMost = 10;
  mutable std::mutex mutex_;
  std::map<std::pair<SimTime, std::uint32_t>, std::shared_ptr<const EvaluatedStep>> fastest_;
};

}  // namespace plait
