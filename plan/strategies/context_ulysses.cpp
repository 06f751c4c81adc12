// Ulysses (Jacobs et al. 2023, DeepSpeed Ulysses, arXiv 2309.14509, section 3.1): before attention
// an all_to_all exchanges tokens for heads, so that each rank has all tokens of some heads; behind
// it another one exchanges them back. In elements, per layer, microbatch and pass, with n ranks:
//   s b (q_width + 2 kv_width) / n  and  s b q_width / n
// which is the paper's 4 s b h / n where there are as many key-value heads as heads. Where there
// are fewer of these than ranks, each is sent to several (repeated as in Megatron-LM and
// DeepSpeed), and the gradients that come back from these are added.
#include <algorithm>
#include <map>

#include "plan/strategies/context_parallel.h"

namespace plait {
namespace {

/// By tensor of the tokens, its counterpart of the heads.
using Counterparts = std::map<TensorId, TensorId>;

class HeadExchange {
 public:
  HeadExchange(Draft& d, AroundAttention& around, Counterparts& heads)
      : d_(d), around_(around), heads_(heads), n_(d.mesh()[Axis::kUlysses]) {}

  /// {qkv R, context W, saved W ...}
  void forward(Op op) {
    const Operand qkv = op.operands[0], context = op.operands[1];
    for (std::size_t i = 2; i < op.operands.size(); ++i) turn(d_.tensors[op.operands[i].tensor]);
    op.operands[0] = {heads_of(qkv.tensor), Use::kRead, 0};
    op.operands[1] = {heads_of(context.tensor), Use::kWrite, 0};
    to_heads(qkv, op.operands[0].tensor);
    const TensorId by_heads = op.operands[1].tensor;
    around_.attend(std::move(op));
    to_tokens(by_heads, context);
    // Backward reads the heads. What was computed token by token is needed no longer.
    d_.tensors[qkv.tensor].scope = Scope::kCall;
  }
  /// {dcontext R, qkv R, context R, saved R ..., dqkv W}
  void backward(Op op) {
    const Operand dcontext = op.operands[0], dqkv = op.operands.back();
    op.operands[0] = {heads_of(dcontext.tensor), Use::kRead, 0};
    op.operands[1].tensor = heads_of(op.operands[1].tensor);
    op.operands[2].tensor = heads_of(op.operands[2].tensor);
    op.operands.back().tensor = heads_of(dqkv.tensor);
    to_heads(dcontext, op.operands[0].tensor);
    const TensorId by_heads = op.operands.back().tensor;
    around_.attend(std::move(op));
    to_tokens(by_heads, dqkv);
  }

 private:
  /// From a share of the tokens and all heads to all tokens and a share of the heads.
  void turn(Tensor& t) const {
    t.dims[0].sharded = t.dims[0].sharded - Axis::kUlysses;
    Dim& width = t.dims[2];
    width.sharded = width.sharded | Axis::kUlysses;
    if (width.sections[1] == 0) return;
    const std::int64_t per_head[] = {d_.model.head_dim, d_.model.head_dim, d_.model.value_dim()};
    for (std::size_t i = 0; i < std::size(per_head); ++i) {  // at least a head each
      width.sections[i] =
          std::max(width.sections[i], d_.mesh().size_of(width.sharded) * per_head[i]);
    }
    width.global = width.sections[0] + width.sections[1] + width.sections[2];
  }
  /// One for the whole layer, since backward reads what forward wrote.
  TensorId heads_of(TensorId tokens) {
    const auto found = heads_.find(tokens);
    if (found != heads_.end()) return found->second;
    Tensor t = d_.tensors[tokens];
    t.name += ".heads";
    turn(t);
    return heads_[tokens] = d_.add(t);
  }
  /// (n, tokens, b, width / n): what goes to each rank, or comes from it.
  TensorId by_rank(TensorId heads, const char* what) {
    Tensor t = d_.tensors[heads];
    const std::int64_t tokens = t.dims[0].local(d_.mesh()) / n_;
    t.rank = 4, t.dims = {Dim{n_}, Dim{tokens}, t.dims[1], t.dims[2]};
    return around_.temporary(t, d_.tensors[heads].name + what);
  }
  void to_heads(const Operand& tokens, TensorId heads) {
    const TensorId dealt = by_rank(heads, ".dealt"), arrived = by_rank(heads, ".arrived");
    around_.copy({tokens.tensor, Use::kRead, tokens.shift}, {dealt, Use::kWrite, 0});
    around_.exchange(CollectiveKind::kAllToAll, Axis::kUlysses, dealt, arrived, dealt);
    around_.copy({arrived, Use::kRead, 0}, {heads, Use::kWrite, 0});
  }
  void to_tokens(TensorId heads, const Operand& tokens) {
    const TensorId parted = by_rank(heads, ".parted"), back = by_rank(heads, ".back");
    around_.copy({heads, Use::kRead, 0}, {parted, Use::kWrite, 0});
    around_.exchange(CollectiveKind::kAllToAll, Axis::kUlysses, parted, back, parted);
    around_.copy({back, Use::kRead, 0}, tokens);
  }

  Draft& d_;
  AroundAttention& around_;
  Counterparts& heads_;
  std::int64_t n_;
};

}  // namespace

void exchange_heads(Draft& d, LayerPasses& layer) {
  Counterparts heads;
  for (Block* block : {&layer.forward, &layer.backward}) {
    rewrite_attention(d, *block, [&](Op& op, Attention& a, AroundAttention& around) {
      HeadExchange exchange(d, around, heads);
      a.pass == Pass::kForward ? exchange.forward(std::move(op)) : exchange.backward(std::move(op));
    });
  }
}

}  // namespace plait
