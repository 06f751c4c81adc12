#pragma once
// What the kinds of context parallelism share. Each rewrites the attention of a layer's blocks: ops
// that bring it what it needs stand before it, ops that take its results further behind it.

#include <string>
#include <utility>
#include <vector>

#include "plan/strategies/draft.h"

namespace plait {

/// Writes ops where the attention of a block stands.
class AroundAttention {
 public:
  AroundAttention(Draft& d, Block& block, Phase phase) : d_(d), block_(block), phase_(phase) {}

  void emit(Compute body, std::vector<Operand> operands) {
    block_.ops.push_back({Body(body), Stream::kCompute, phase_, std::move(operands)});
  }
  /// Same numbers at other places (realrun/compute/copy.h).
  void copy(Operand from, Operand to) {
    const DType type = d_.tensors[to.tensor].dtype;
    emit(Cast{0, type, type}, {from, to});
  }
  /// `whole`: the tensor that holds all of the collective's elements.
  void exchange(CollectiveKind kind, AxisSet axes, TensorId from, TensorId to, TensorId whole) {
    Collective c;
    c.kind = kind, c.axes = axes;
    c.dtype = d_.tensors[whole].dtype, c.elements = d_.tensors[whole].elements(d_.mesh());
    block_.ops.push_back({c, Stream::kCp, phase_, {{from, Use::kRead, 0}, {to, Use::kWrite, 0}}});
  }
  /// A tensor that lives within the call.
  TensorId temporary(Tensor t, std::string name) {
    t.name = std::move(name), t.scope = Scope::kCall;
    return d_.add(std::move(t));
  }
  void attend(Op op) { block_.ops.push_back(std::move(op)); }

 private:
  Draft& d_;
  Block& block_;
  Phase phase_;
};

/// Calls rewrite(attention, body, around) for each attention of the block, which writes it anew.
template <class Rewrite>
void rewrite_attention(Draft& d, Block& block, Rewrite&& rewrite) {
  std::vector<Op> ops = std::exchange(block.ops, {});
  for (Op& op : ops) {
    Attention* a = body_of<Attention>(op);
    AroundAttention around(d, block, op.phase);
    a != nullptr ? rewrite(op, *a, around) : around.attend(std::move(op));
  }
}

/// Keys and values, or their gradients, out of packed rows (tokens, b, q | k | v).
Tensor keys_and_values(const Tensor& packed);

void gather_keys(Draft& draft, Block& block);           // context_gather.cpp
void pass_keys_round(Draft& draft, Block& block);       // context_ring.cpp
void exchange_heads(Draft& draft, LayerPasses& layer);  // context_ulysses.cpp

}  // namespace plait
