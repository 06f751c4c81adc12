// Context parallelism: a rank holds 1 / cp of each sequence. Everything but attention works token
// by token; attention's queries stay where they are and meet the keys and values of all tokens,
// which are gathered before it, forward and again backward, and whose gradients are reduced and
// scattered behind it (Grattafiori et al. 2024, The Llama 3 Herd of Models, section 3.3.2;
// Megatron-LM's --cp-comm-type all_gather). Weights are shared, so cp ranks reduce gradients and
// shard the optimizer as data-parallel ones do.
//
// The sequence is cut into 2 cp chunks and rank i holds chunks i and 2 cp - 1 - i, so that every
// rank has the same number of causal pairs. Gathered rows come chunk by chunk as the ranks hold
// them and are put in order by a copy, as Transformer Engine does.
#include <algorithm>

#include "core/error.h"
#include "plan/strategies/draft.h"

namespace plait {
namespace {

/// Keys and values, or their gradients, on their way between a rank's packed rows and all tokens.
struct KeyValues {
  TensorId own;       // (s / cp, b, k | v)
  TensorId by_rank;   // (cp, s / cp, b, k | v), as gathered
  TensorId in_order;  // (s, b, k | v)
};

class ContextRewrite {
 public:
  explicit ContextRewrite(Draft& d) : d_(d) {}

  void run() {
    for (LayerKind& layer : d_.layers) {
      rewrite(layer.kept.forward);
      rewrite(layer.kept.backward);
    }
  }

 private:
  void rewrite(Block& block) {
    std::vector<Op> ops = std::move(block.ops);
    block.ops.clear();
    block_ = &block;
    for (Op& op : ops) {
      Compute* c = std::get_if<Compute>(&op.body);
      const Attention* a = c ? std::get_if<Attention>(c) : nullptr;
      if (a == nullptr) {
        block.ops.push_back(std::move(op));
        continue;
      }
      a->pass == Pass::kForward ? forward(std::move(op)) : backward(std::move(op));
    }
  }
  void forward(Op op) {
    op.operands.push_back(gather("kv", op.operands[0], op.phase));
    block_->ops.push_back(std::move(op));
  }
  void backward(Op op) {
    const Operand keys = gather("kv_again", op.operands[1], op.phase);
    const TensorId dqkv = op.operands.back().tensor;
    const KeyValues gradient = declare("d_kv", d_.tensors[dqkv]);
    const Phase phase = op.phase;
    op.operands.insert(op.operands.end() - 1, {keys, {gradient.in_order, Use::kWrite, 0}});
    block_->ops.push_back(std::move(op));
    copy({gradient.in_order, Use::kRead, 0}, {gradient.by_rank, Use::kWrite, 0}, phase);
    exchange(CollectiveKind::kReduceScatter, gradient.by_rank, gradient.own, gradient.by_rank,
             phase);
    copy({gradient.own, Use::kRead, 0}, {dqkv, Use::kUpdate, 0}, phase);
  }
  /// Keys and values of all tokens.
  Operand gather(const char* name, const Operand& qkv, Phase phase) {
    const KeyValues kv = declare(name, d_.tensors[qkv.tensor]);
    copy({qkv.tensor, Use::kRead, qkv.shift}, {kv.own, Use::kWrite, 0}, phase);
    exchange(CollectiveKind::kAllGather, kv.own, kv.by_rank, kv.by_rank, phase);
    copy({kv.by_rank, Use::kRead, 0}, {kv.in_order, Use::kWrite, 0}, phase);
    return {kv.in_order, Use::kRead, 0};
  }

  KeyValues declare(const std::string& name, const Tensor& packed) {
    const std::int64_t cp = d_.mesh()[Axis::kCp], s = d_.workload.sequence_length;
    const std::int64_t width = d_.model.kv_width();
    Tensor t = packed;
    t.scope = Scope::kCall;
    t.dims[2].global = 2 * width, t.dims[2].sections = {width, width, 0};
    KeyValues out{};
    t.name = name, out.own = d_.add(t);
    t.name = name + ".in_order", t.dims[0] = Dim{s}, out.in_order = d_.add(t);
    t.name = name + ".by_rank", t.rank = 4;
    t.dims = {Dim{cp}, Dim{s / cp}, t.dims[1], t.dims[2]};
    out.by_rank = d_.add(t);
    return out;
  }
  void copy(Operand from, Operand to, Phase phase) {
    const DType type = d_.tensors[to.tensor].dtype;
    block_->ops.push_back({Compute(Cast{0, type, type}), Stream::kCompute, phase, {from, to}});
  }
  void exchange(CollectiveKind kind, TensorId from, TensorId to, TensorId whole, Phase phase) {
    Collective c;
    c.kind = kind, c.axes = Axis::kCp;
    c.dtype = d_.tensors[whole].dtype, c.elements = d_.tensors[whole].elements(d_.mesh());
    block_->ops.push_back({c, Stream::kCp, phase, {{from, Use::kRead, 0}, {to, Use::kWrite, 0}}});
  }

  Draft& d_;
  Block* block_ = nullptr;
};

}  // namespace

void apply_context_parallel(Draft& d) {
  if (d.mesh()[Axis::kCp] > 1) ContextRewrite(d).run();
}

}  // namespace plait
