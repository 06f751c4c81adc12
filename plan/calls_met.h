#pragma once
// Calls that were met already, by block and layer: other microbatches call the same.

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace plait {

class CallsMet {
 public:
  /// `last_layer`: the largest number that a call has.
  CallsMet(std::size_t blocks, std::int64_t last_layer)
      : blocks_(blocks), met_(blocks * (static_cast<std::size_t>(last_layer) + 1)) {}
  /// False if one of its block and layer was there already.
  bool insert(const Call& call) {
    auto met = met_[call.block + static_cast<std::size_t>(call.layer) * blocks_];
    const bool fresh = !met;
    met = true;
    return fresh;
  }

 private:
  std::size_t blocks_;
  std::vector<bool> met_;
};

}  // namespace plait
