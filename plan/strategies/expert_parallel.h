#pragma once
// What both ways of tokens to experts on other ranks have in common: expert.cpp, by all_to_all, and
// expert_gather.cpp.

#include <set>

#include "plan/strategies/draft.h"

namespace plait {

/// The tensors that lie where experts are, not where tokens are: (E / dealt, slots of all senders,
/// width).
class AtExperts {
 public:
  /// `dealt`: along which ranks have other experts; `senders`: ranks whose tokens each of them
  /// sees.
  AtExperts(Draft& d, AxisSet dealt, std::int64_t senders)
      : d_(d), dealt_(dealt), senders_(senders) {}

  void add(TensorId id) {
    if (!is_.insert(id).second) return;
    Tensor& t = d_.tensors[id];
    t.dims[0].sharded = dealt_;
    t.dims[1] = Dim{t.dims[1].local(d_.mesh()) * senders_};
  }
  /// What is made of slots at the experts is there too.
  void follow(const Op& op) {
    const bool there = std::ranges::any_of(op.operands, [this](const Operand& o) {
      return o.use == Use::kRead && is_.contains(o.tensor);
    });
    if (!there) return;
    for (const Operand& o : op.operands) {
      const TensorClass kind = d_.tensors[o.tensor].kind;
      if (o.use == Use::kWrite && kind == TensorClass::kActivation) add(o.tensor);
    }
  }

 private:
  Draft& d_;
  AxisSet dealt_;
  std::int64_t senders_;
  std::set<TensorId> is_;
};

/// ExpertDispatch::kAllGather. `dealt`: along which ranks have other experts; `split`: other parts
/// of one, and other tokens.
void gather_tokens(Draft& draft, AxisSet dealt, AxisSet split, LayerPasses& layer);

}  // namespace plait
