#pragma once
// Copies of a layer's tensors for what is forgotten after a call, or computed again within one.

#include <map>

#include "plan/strategies/draft.h"

namespace plait {

/// Copies of tensors that live within a call, made on demand.
class CallCopies {
 public:
  explicit CallCopies(Draft& d) : d_(d) {}
  bool has(TensorId t) const { return copies_.contains(t); }
  TensorId of(TensorId t) {
    const auto found = copies_.find(t);
    if (found != copies_.end()) return found->second;
    Tensor copy = d_.tensors[t];
    copy.name += ".recomputed";
    copy.scope = Scope::kCall;
    if (copy.is_view()) copy.storage = of(copy.storage);
    const TensorId id = copies_[t] = d_.add(copy);
    if (d_.stored(t) != t) d_.cast[id] = d_.stored(t);
    return id;
  }

 private:
  Draft& d_;
  std::map<TensorId, TensorId> copies_;
};

}  // namespace plait
