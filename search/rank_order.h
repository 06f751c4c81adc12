#pragma once
// How far apart the ranks along an axis lie on the devices of a layout, as far as bounds know it:
// where those that share a sequence or split layers stand together, in the order of the mesh, and
// those along fsdp, dp and pp around them, in any order (Megatron-LM's tp-cp-ep-dp-pp, and its
// tp-cp-ep-pp-dp).

#include <array>
#include <cstdint>
#include <vector>

#include "scenarios/scenario.h"
#include "search/layout.h"

namespace plait {

class RankOrder {
 public:
  explicit RankOrder(const Scenario& scenario);

  /// Else nothing is known: ranks are placed one by one, by stages of a node, or in an order that
  /// takes the inner axes apart.
  bool known() const { return known_; }
  /// A stage's devices stand together.
  bool stages_outermost() const { return known_ && outer_.back() == Axis::kPp; }
  /// In devices, from one rank along kFsdp, kDp or kPp to the next.
  std::int64_t stride(const Layout& layout, Axis axis) const;

 private:
  bool known_ = true;
  std::array<Axis, 3> outer_ = {Axis::kFsdp, Axis::kDp, Axis::kPp};  // from the inside out
};

}  // namespace plait
