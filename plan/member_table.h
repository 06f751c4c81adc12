#pragma once
// One value per member of the tensor families of a program: dense, in the order in which layers are
// met. For families that outlive a call; members of call scope have no name outside of their call.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace plait {

template <class T>
class MemberTable {
 public:
  explicit MemberTable(const Plan& plan)
      : plan_(plan),
        families_(plan.tensors.size()),
        layer_slot_(static_cast<std::size_t>(plan.layers) + 2, kNoSlot) {}

  T& at(TensorId tensor, std::int32_t layer, std::int32_t microbatch) {
    const Scope scope = plan_.tensors[tensor].scope;
    std::size_t i = 0;
    if (per_layer(scope)) {
      std::uint32_t& slot = layer_slot_.at(static_cast<std::size_t>(layer));
      if (slot == kNoSlot) slot = layer_slots_++;
      i = slot;
    }
    if (scope == Scope::kLayerMicrobatch) i *= static_cast<std::size_t>(plan_.microbatches);
    if (per_microbatch(scope)) i += static_cast<std::size_t>(microbatch);
    std::vector<T>& family = families_[tensor];
    if (family.size() <= i) family.resize(std::max(i + 1, 2 * family.size()));
    return family[i];
  }
  /// Members of a tensor met so far.
  const std::vector<T>& family(TensorId tensor) const { return families_[tensor]; }

 private:
  static constexpr std::uint32_t kNoSlot = 0xFFFFFFFF;
  const Plan& plan_;
  std::vector<std::vector<T>> families_;
  std::vector<std::uint32_t> layer_slot_;
  std::uint32_t layer_slots_ = 0;
};

}  // namespace plait
