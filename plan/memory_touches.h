#pragma once
// What a block does to memory whenever it is called: whose calls these are, and when, is
// plan/memory's.

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace plait {

/// What a block's ops first .. last do to a member.
struct MemoryTouch {
  std::int64_t first, last;
  TensorId root;
  std::int16_t shift;
  bool afresh;            // a full write: what was there before is no longer needed
  std::int32_t previous;  // touch of the same tensor
  bool within_call;       // the member is the call's own, and there for these ops only
  bool persistent;        // the member is there from the first op to the last
};

/// In the order of the touches' first ops.
struct BlockTouches {
  std::vector<MemoryTouch> all;
  std::vector<MemoryTouch> once;     // members that are always there, the same in any microbatch
  std::vector<MemoryTouch> staying;  // members that are always there, one for each microbatch
  std::vector<MemoryTouch> passing;  // all others that outlive the call
  std::vector<std::int64_t> within;  // bytes of the call's own members and beside, by op
  std::vector<std::int64_t> beside;  // of these, what is no tensor of the plan; empty: nothing
  std::int64_t most_within = 0;
};

/// Of a rank with that role, in that place, of tensors whose turn it is in `counted`, with `bytes`
/// of each; both by tensor.
BlockTouches touches_of(const Plan& plan, const Block& block, Place place, Role role,
                        const std::vector<bool>& counted, const std::vector<std::int64_t>& bytes);

}  // namespace plait
