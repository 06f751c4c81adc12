// Expert parallelism where tokens are gathered (Megatron-Core, megatron/core/transformer/moe/
// token_dispatcher.py, MoEAllGatherTokenDispatcher): every rank has the tokens of all ranks that
// share experts out or split one, picks those of its own experts' slots, and what the experts make
// of them lies at the places of all tokens, zeros where there is none. The sum over the ranks,
// scattered, is each rank's tokens' result.
//
//   forward    route -> all_gather of slots, gates and tokens -> experts -> reduce_scatter
//   backward   all_gather of gradients -> experts -> reduce_scatter of gradients: gates, tokens
//
// With n ranks and s b tokens of each: (n - 1) s b h elements from each rank, four times per layer
// and microbatch, however many experts a token has; (n - 1) s b k gates, twice, and slots, once.
// An all_to_all has (n - 1) / n k s b h of the first. Where ranks split an expert, their parts of
// its results are summed up by the same reduce_scatter.
//
// Each rank's tokens take slots as they do with an all_to_all, so that the same ones are dropped.
#include <utility>

#include "plan/strategies/expert_parallel.h"
#include "plan/strategies/layout.h"
#include "plan/strategies/mixture_writer.h"

namespace plait {
namespace {

class GatherRewrite {
 public:
  GatherRewrite(Draft& d, AxisSet dealt, AxisSet split)
      : d_(d),
        axes_(dealt | split),
        ranks_(d.mesh().size_of(axes_)),
        weighted_(d.strategy.experts.gates == ExpertGates::kResults),
        at_experts_(d, dealt, ranks_) {}

  void run(LayerPasses& layer) {
    rewrite(layer.forward);
    rewrite(layer.backward);
  }

 private:
  void rewrite(Block& block) {
    block_ = &block;
    for (Op& op : std::exchange(block.ops, {})) {
      const bool forward = op.phase == Phase::kForward;
      if (body_of<Dispatch>(op) != nullptr) {
        forward ? dispatch(std::move(op)) : dispatch_back(std::move(op));
      } else if (body_of<Combine>(op) != nullptr) {
        forward ? combine(std::move(op)) : combine_back(std::move(op));
      } else {
        at_experts_.follow(op);
        block_->ops.push_back(std::move(op));
        if (forward && body_of<Route>(block_->ops.back()) != nullptr) gather_choice();
      }
    }
  }

  // ---- forward
  /// Gates are kept where their own gradients, or the slots', need them.
  void gather_choice() {
    const std::vector<Operand> route = block_->ops.back().operands;
    slots_ = gathered(route[2], Phase::kForward);
    gates_ = gathered(route[1], Phase::kForward);
    if (weighted_) d_.tensors[gates_].scope = Scope::kLayerMicrobatch;
    own_ = of_all(route[2].tensor, ".own", Scope::kLayerMicrobatch);
  }
  void dispatch(Op op) {
    Dispatch& x = *body_of<Dispatch>(op);
    const TensorId filled = op.operands[2].tensor;
    if (x.gates) {
      op.operands = {{gates_, Use::kRead}, {own_, Use::kRead}, {filled, Use::kWrite}};
    } else {
      x.senders = ranks_;
      const TensorId tokens = gathered(op.operands[0], op.phase);
      op.operands = {
          {tokens, Use::kRead}, {slots_, Use::kRead}, {filled, Use::kWrite}, {own_, Use::kWrite}};
    }
    at_experts_.add(filled);
    block_->ops.push_back(std::move(op));
  }
  void combine(Op op) {
    if (weighted_) op.operands[1].tensor = gates_;
    op.operands[weighted_ ? 2 : 1].tensor = own_;
    scatter(std::move(op));
  }

  // ---- backward
  void combine_back(Op op) {
    op.operands[0] = {gathered(op.operands[0], op.phase), Use::kRead};
    if (!weighted_) {
      op.operands[1].tensor = own_;
      at_experts_.add(op.operands[2].tensor);
      block_->ops.push_back(std::move(op));
      return;
    }
    op.operands[2].tensor = gates_, op.operands[3].tensor = own_;
    at_experts_.add(op.operands[4].tensor);
    scatter(std::move(op));
  }
  void dispatch_back(Op op) {
    op.operands[1].tensor = own_;
    scatter(std::move(op));
  }

  // ---- collectives
  /// What the ranks have of it, in their order.
  TensorId gathered(const Operand& part, Phase phase) {
    const TensorId all = of_all(part.tensor, ".of_ranks", Scope::kCall);
    exchange(CollectiveKind::kAllGather, part, {all, Use::kWrite}, all, phase);
    return all;
  }
  /// The op's last operand is of all ranks' tokens; its sum over the ranks is scattered.
  void scatter(Op op) {
    const Operand part = op.operands.back();
    const Phase phase = op.phase;
    if (d_.strategy.sequence_parallel)
      lay_out(d_.tensors[part.tensor], Sharding::kSequence, d_.mesh().present(kTensorAxes));
    const TensorId all = of_all(part.tensor, ".for_ranks", Scope::kCall);
    op.operands.back() = {all, Use::kWrite};
    block_->ops.push_back(std::move(op));
    exchange(CollectiveKind::kReduceScatter, {all, Use::kRead}, part, all, phase);
  }
  TensorId of_all(TensorId part, const char* suffix, Scope scope) {
    Tensor t = d_.tensors[part];
    t.name += suffix, t.scope = scope;
    t.dims[0] = Dim{tokens_of_a_rank(d_) * ranks_};
    return d_.add(t);
  }
  void exchange(CollectiveKind kind, Operand from, Operand to, TensorId whole, Phase phase) {
    Collective c;
    c.kind = kind, c.axes = axes_;
    c.dtype = d_.tensors[whole].dtype, c.elements = d_.tensors[whole].elements(d_.mesh());
    from.use = Use::kRead;
    block_->ops.push_back({c, Stream::kEp, phase, {from, to}});
  }

  Draft& d_;
  AxisSet axes_;
  std::int64_t ranks_;
  bool weighted_;  // gates multiply results
  AtExperts at_experts_;
  TensorId slots_ = kNoTensor, gates_ = kNoTensor, own_ = kNoTensor;  // (n s, b, k)
  Block* block_ = nullptr;
};

}  // namespace

void gather_tokens(Draft& d, AxisSet dealt, AxisSet split, LayerPasses& layer) {
  GatherRewrite(d, dealt, split).run(layer);
}

}  // namespace plait
