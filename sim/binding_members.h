#pragma once
// Who decided when a receive or a collective of a recorded step could go on.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/ops_of_blocks.h"
#include "sim/recorded_step.h"

namespace plait {

class BindingMembers {
 public:
  /// `step` outlives it.
  explicit BindingMembers(const RecordedStep& step);

  /// Where the end of a receive or the start of a collective was decided: at its sender, at its
  /// last member; of other ops, and where its own rank or none that is recorded decided, `at`.
  PlaceInTrack binding(PlaceInTrack at) const;

 private:
  bool of_one_rank(std::size_t stage, std::size_t a, std::size_t b) const;
  PlaceInTrack last_member(PlaceInTrack at, const Collective& c, SimTime start) const;
  std::int64_t meeting(const Collective& c, std::size_t stage) const;
  std::size_t occurrence(std::size_t stage, std::uint32_t flat, Stages which) const;
  std::uint32_t nth(std::size_t stage, std::size_t k, Stages which) const;
  void index_messages(std::size_t stage);

  const RecordedStep& step_;
  const Dependencies& deps_;
  OpsOfBlocks crossing_;                            // sends, and collectives across stages
  std::vector<PlaceInTrack> sender_;                // per message: stage and flat op of its Send
  std::vector<std::vector<std::uint32_t>> across_;  // per stage: collectives across stages
};

}  // namespace plait
