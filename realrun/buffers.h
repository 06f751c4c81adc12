#pragma once
// The memory of one rank of a real run. A tensor member's buffer appears when an op first touches
// it and goes after the last op that needs it, exactly as plan/memory.h accounts: `peak` is what
// was really held, in the plan's element sizes. Numbers are of type T whatever their element type
// in the plan, token ids are int64, dropout masks bytes.

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "plan/memory.h"
#include "plan/plan.h"

namespace plait {

template <class T>
class Buffers {
 public:
  Buffers(const Plan& plan, std::size_t stage);

  /// Where the operand's elements begin, for the call.
  template <class E>
  E* at(const Operand& operand, const Call& call) {
    const Tensor& t = plan_.tensors[operand.tensor];
    const TensorId root = storage_of(plan_, operand.tensor);
    return reinterpret_cast<E*>(member(root, call.layer + operand.shift, call.microbatch)) +
           (t.is_view() ? t.offset : 0);
  }
  /// The member's bytes; zero when fresh. Layer and microbatch are ignored where the scope has
  /// none.
  std::byte* member(TensorId root, std::int32_t layer, std::int32_t microbatch);
  bool holds(TensorId root, std::int32_t layer, std::int32_t microbatch) const;
  /// Frees what op `flat` was the last to need.
  void release_after(std::int64_t flat);
  Bytes peak() const { return peak_; }

 private:
  using Key = std::tuple<TensorId, std::int32_t, std::int32_t>;
  Key key(TensorId root, std::int32_t layer, std::int32_t microbatch) const;

  const Plan& plan_;
  std::multimap<std::int64_t, Key> last_use_;  // flat op -> members that end there
  std::map<Key, std::unique_ptr<std::byte[]>> held_;
  Bytes live_, peak_;
};

}  // namespace plait
