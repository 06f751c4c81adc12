// What hides tensor-parallel communication.
//
// weight-grad   the plan as insert_collectives leaves it: in backward what the first of a linear
//               layer's two products yields is summed, and what the second reads is gathered,
//               beside the other one (Megatron-LM's LinearWithGradAccumulationAndAsyncCommunication
//               since 2022)
// none          both products come first (autograd has them in one step, and the sum over ranks
//               behind it: Megatron-LM before, PaddleNLP without mp_async_allreduce); what a layer
//               gathered is kept for backward, since the product itself saves its input
// ring          forward as well: a layer's all_gather and the product of what it gathered, a
//               product and the reduce_scatter of its result, each in tp pieces (Wang et al. 2023,
//               Overlap Communication with Dependent Computation via Decomposition, ASPLOS, section
//               5.1; Transformer Engine's ring exchange behind Megatron-LM's --tp-comm-overlap;
//               PyTorch's async tensor parallelism). On rank i of n, in step t:
//
//   gathered   multiplies the rows of rank i - t, while these travel on to rank i + 1
//   scattered  multiplies the rows of rank i - 1 - t and adds the sum that has come from i - 1,
//              which goes on to i + 1 while the next rows are multiplied; the last are its own
//
// In bytes nothing changes: n - 1 shares of the tensor leave each rank. Backward needs no pieces
// where another product is at hand to hide a collective behind; the gather of the output's
// gradient, which both products read, stays whole.
#include <algorithm>
#include <utility>

#include "plan/refusal.h"
#include "plan/strategies/draft.h"

namespace plait {
namespace {

bool over_tp(const Op& op) {
  const Collective* c = std::get_if<Collective>(&op.body);
  const bool tp_alone = c != nullptr && !c->axes.empty() && (c->axes - kTensorAxes).empty();
  return tp_alone && op.stream == Stream::kTp;  // tokens on their way to experts wait for these
}
bool is_collective(const Op& op, CollectiveKind kind) {
  return over_tp(op) && std::get<Collective>(op.body).kind == kind;
}
std::ptrdiff_t readers(const std::vector<Op>& ops, TensorId t) {
  return std::count_if(ops.begin(), ops.end(), [t](const Op& op) {
    return std::any_of(op.operands.begin(), op.operands.end(),
                       [t](const Operand& o) { return o.tensor == t && o.use != Use::kWrite; });
  });
}

class OverlappedPieces {
 public:
  OverlappedPieces(Draft& d, Block& block)
      : d_(d), block_(block), n_(d.mesh().size_of(kTensorAxes)) {}

  void run() {
    std::vector<Op> ops = std::exchange(block_.ops, {});
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const std::size_t gather = gather_for(ops, i), scatter = scatter_of(ops, i);
      if (gather < ops.size()) {
        gathered(ops[gather], ops[i]);
      } else if (scatter < ops.size()) {
        scattered(ops[i], ops[scatter]);
      } else if (!taken(ops, i)) {
        block_.ops.push_back(ops[i]);
      }
    }
  }

 private:
  /// Linear layers of all tokens; products of experts, on slots, stay whole.
  bool divides(Op& op) const {
    return body_of<MatMul>(op) != nullptr && d_.tensors[op.operands[1].tensor].rank == 2;
  }
  /// The gather of what product `at` alone reads; ops.size() where there is none.
  std::size_t gather_for(std::vector<Op>& ops, std::size_t at) const {
    if (!divides(ops[at])) return ops.size();
    const TensorId x = ops[at].operands[0].tensor;
    for (std::size_t i = 0; i < at; ++i) {
      if (!is_collective(ops[i], CollectiveKind::kAllGather)) continue;
      if (ops[i].operands[1].tensor == x && readers(ops, x) == 1) return i;
    }
    return ops.size();
  }
  /// The reduce_scatter of what product `at` writes.
  std::size_t scatter_of(std::vector<Op>& ops, std::size_t at) const {
    if (!divides(ops[at])) return ops.size();
    const TensorId y = ops[at].operands[2].tensor;
    for (std::size_t i = at + 1; i < ops.size(); ++i) {
      if (!is_collective(ops[i], CollectiveKind::kReduceScatter)) continue;
      if (ops[i].operands[0].tensor == y && readers(ops, y) == 1) return i;
    }
    return ops.size();
  }
  /// A collective that its product's pieces contain.
  bool taken(std::vector<Op>& ops, std::size_t collective) const {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (gather_for(ops, i) == collective || scatter_of(ops, i) == collective) return true;
    }
    return false;
  }

  void gathered(const Op& gather, const Op& product) {
    Operand here = gather.operands[0];
    const TensorId next[] = {share_of(here.tensor, ".even"), share_of(here.tensor, ".odd")};
    for (std::int64_t step = 0; step < n_; ++step) {
      const Operand rows = here;
      if (step + 1 < n_) {
        here = {next[step % 2], Use::kRead, 0};
        pass(rows, here.tensor, product.phase);
      }
      Op piece = at_step(product, step);
      piece.operands[0] = rows;
      if (step > 0) piece.operands[2].use = Use::kUpdate;
      block_.ops.push_back(std::move(piece));
    }
  }
  void scattered(const Op& product, const Op& scatter) {
    const Operand out = scatter.operands[1];
    TensorId sum = share_of(out.tensor, ".sum"), spare = share_of(out.tensor, ".passed");
    const TensorId part = share_of(out.tensor, ".part");
    for (std::int64_t step = 0; step < n_; ++step) {
      if (step > 0) {
        if (step + 1 == n_) spare = out.tensor;
        pass({sum, Use::kRead, 0}, spare, product.phase);
        std::swap(sum, spare);
      }
      Op piece = at_step(product, (step + 1) % n_);
      piece.operands[2] = {step > 0 ? part : sum, Use::kWrite, 0};
      block_.ops.push_back(std::move(piece));
      if (step > 0) add(part, sum, product.phase);
    }
  }

  static Op at_step(const Op& product, std::int64_t step) {
    Op out = product;
    body_of<MatMul>(out)->ring_step = step;
    return out;
  }
  TensorId share_of(TensorId like, const char* what) {
    Tensor t = d_.tensors[like];
    t.name += what, t.scope = Scope::kCall;
    return d_.add(std::move(t));
  }
  void pass(const Operand& from, TensorId to, Phase phase) {
    Collective c;
    c.kind = CollectiveKind::kShift, c.axes = d_.mesh().present(kTensorAxes);
    c.dtype = d_.tensors[to].dtype, c.elements = d_.tensors[to].elements(d_.mesh());
    block_.ops.push_back({c, Stream::kTp, phase, {from, {to, Use::kWrite, 0}}});
  }
  void add(TensorId part, TensorId sum, Phase phase) {
    const Add body{Pass::kForward, 0, 0, false, false, d_.tensors[sum].dtype};
    block_.ops.push_back(
        {Compute(body), Stream::kCompute, phase, {{part, Use::kRead, 0}, {sum, Use::kUpdate, 0}}});
  }

  Draft& d_;
  Block& block_;
  std::int64_t n_;
};

/// Moves a product whose result is summed over tp, and its collective, behind the product for the
/// weights' gradient that reads the same.
void sum_behind_both_products(Block& backward) {
  auto& ops = backward.ops;
  for (auto product = ops.begin(); product != ops.end(); ++product) {
    if (!is_product(*product, Pass::kInputGrad)) continue;
    const auto sum = product + 1;
    if (sum == ops.end() || !over_tp(*sum) ||
        sum->operands[0].tensor != product->operands[2].tensor) {
      continue;
    }
    const auto other = std::find_if(sum + 1, ops.end(), [&](const Op& op) {
      return is_product(op, Pass::kWeightGrad) &&
             op.operands[0].tensor == product->operands[0].tensor;
    });
    if (other != ops.end()) product = std::rotate(product, sum + 1, other + 1) + 1;
  }
}

/// Backward reads what forward has gathered and does not gather it again.
void keep_gathered(Draft& d, Block& forward, Block& backward) {
  for (const Op& first : forward.ops) {
    if (!is_collective(first, CollectiveKind::kAllGather)) continue;
    const Operand& share = first.operands[0];
    const auto again = std::find_if(backward.ops.begin(), backward.ops.end(), [&](const Op& op) {
      return is_collective(op, CollectiveKind::kAllGather) &&
             op.operands[0].tensor == share.tensor && op.operands[0].shift == share.shift;
    });
    if (again == backward.ops.end()) continue;
    const TensorId kept = first.operands[1].tensor, gathered_again = again->operands[1].tensor;
    backward.ops.erase(again);
    for (Op& op : backward.ops) {
      for (Operand& o : op.operands) {
        if (o.tensor == gathered_again) o.tensor = kept;
      }
    }
    d.tensors[kept].scope = d.tensors[share.tensor].scope;
    const bool stream = share.tensor == d.x;  // which the layer before has written
    if (!stream && readers(backward.ops, share.tensor) == 0) {
      d.tensors[share.tensor].scope = Scope::kCall;
    }
  }
}

void hide_nothing(Draft& d, Block& forward, Block& backward) {
  sum_behind_both_products(backward);
  keep_gathered(d, forward, backward);
}

}  // namespace

void overlap_tensor_parallel(Draft& d) {
  const TensorOverlap overlap = d.strategy.tensor.overlap;
  if (overlap == TensorOverlap::kWeightGrad || d.mesh().size_of(kTensorAxes) == 1) return;
  if (overlap == TensorOverlap::kNone) {
    for (LayerKind& layer : d.layers) hide_nothing(d, layer.kept.forward, layer.kept.backward);
    hide_nothing(d, d.head_forward, d.head_backward);
    hide_nothing(d, d.mtp_head.forward, d.mtp_head.backward);
    return;
  }
  if (!d.strategy.sequence_parallel) {
    throw refusal("S026", "an all_reduce over tp has no pieces that a product could wait for",
                  "strategy.tensor.overlap", "strategy.sequence_parallel = true",
                  "switch on strategy.sequence_parallel, or remove strategy.tensor.overlap",
                  {"strategy.sequence_parallel"});
  }
  if (d.strategy.recompute.kind == Recompute::kOps) {
    throw refusal("S027", "products in pieces cannot be kept one by one", "strategy.tensor.overlap",
                  "another strategy.recompute.kind than \"ops\"",
                  "remove strategy.tensor.overlap, or choose another kind of recomputation",
                  {"strategy.recompute.kind"});
  }
  for (LayerKind& layer : d.layers) OverlappedPieces(d, layer.kept.forward).run();
}

}  // namespace plait
