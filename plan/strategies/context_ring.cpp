// Ring attention (Liu, Zaharia and Abbeel 2023, arXiv 2310.01889, section 3; Megatron-LM's
// --cp-comm-type p2p): keys and values travel round the ring of cp, block by block, while attention
// works on the block at hand. Attention of one block is merged with that of the blocks before
// (section 3, eq. 2): with o, l the results so far and o', l' those of the block, l log-sum-exps,
//   l'' = log(e^l + e^l')    o'' = e^(l - l'') o + e^(l' - l'') o'
//
// Step t of cp deals with the block of rank i - t. Forward, every step but the last passes its
// block on. Backward, each block comes round again, and with it the sum of its gradients, one step
// behind: the sum that rank i has when step t ends goes to rank i + 1, which adds its own part in
// step t + 1; after cp passes it is home. In elements, per layer, microbatch and rank, kv = 2 s /
// cp b kv_width being one block:
//   forward (cp - 1) kv        backward (2 cp - 1) kv
//
// With the chunks dealt as context.cpp does, every step has s^2 / (2 cp^2) causal pairs on every
// rank (Brandon et al. 2023, Striped Attention, arXiv 2311.09431, section 2.3, on why the order
// matters; this order: Zhu 2024, ring-flash-attention, "zigzag").
#include "plan/strategies/context_parallel.h"

namespace plait {
namespace {

class Ring {
 public:
  Ring(Draft& d, AroundAttention& around) : d_(d), around_(around) {}

  void forward(const Op& op) {
    start("kv", op.operands[0]);
    for (std::int64_t step = 0; step < size(); ++step) {
      const TensorId block = block_of(step);
      Op part = at_step(op, step);
      if (step > 0) part.operands[1].use = part.operands[2].use = Use::kUpdate;
      part.operands.push_back({block, Use::kRead, 0});
      around_.attend(std::move(part));
    }
  }
  void backward(const Op& op) {
    start("kv_again", op.operands[1]);
    const TensorId dqkv = op.operands.back().tensor;
    const Tensor gradient = keys_and_values(d_.tensors[dqkv]);
    const TensorId part = around_.temporary(gradient, "d_kv.part");
    TensorId sum = around_.temporary(gradient, "d_kv");
    TensorId spare = around_.temporary(gradient, "d_kv.passed");
    for (std::int64_t step = 0; step < size(); ++step) {
      const TensorId block = block_of(step);
      if (step > 0) pass(sum, spare), std::swap(sum, spare);
      Op attention = at_step(op, step);
      if (step > 0) attention.operands.back().use = Use::kUpdate;
      attention.operands.insert(attention.operands.end() - 1,
                                {{block, Use::kRead, 0}, {step > 0 ? part : sum, Use::kWrite, 0}});
      around_.attend(std::move(attention));
      if (step > 0) add(part, sum);
    }
    pass(sum, spare);
    around_.copy({spare, Use::kRead, 0}, {dqkv, Use::kUpdate, 0});
  }

 private:
  std::int64_t size() const { return d_.mesh()[Axis::kCp]; }
  void start(const std::string& name, const Operand& qkv) {
    const Tensor t = keys_and_values(d_.tensors[qkv.tensor]);
    here_ = around_.temporary(t, name);
    for (int i = 0; i < 2; ++i) next_[i] = around_.temporary(t, name + (i ? ".odd" : ".even"));
    around_.copy({qkv.tensor, Use::kRead, qkv.shift}, {here_, Use::kWrite, 0});
  }
  /// The block of this step; where there is a next step, it is passed on first.
  TensorId block_of(std::int64_t step) {
    const TensorId block = here_;
    if (step + 1 == size()) return block;
    here_ = next_[step % 2];
    pass(block, here_);
    return block;
  }
  static Op at_step(const Op& op, std::int64_t step) {
    Op out = op;
    Attention& a = std::get<Attention>(std::get<Compute>(out.body));
    a.balanced = true, a.ring_step = step;
    return out;
  }
  void pass(TensorId from, TensorId to) {
    around_.exchange(CollectiveKind::kShift, Axis::kCp, from, to, from);
  }
  void add(TensorId part, TensorId sum) {
    around_.emit(Add{Pass::kForward, 0, 0, false, false, d_.tensors[sum].dtype},
                 {{part, Use::kRead, 0}, {sum, Use::kUpdate, 0}});
  }

  Draft& d_;
  AroundAttention& around_;
  TensorId here_ = kNoTensor, next_[2] = {kNoTensor, kNoTensor};
};

}  // namespace

void pass_keys_round(Draft& d, Block& block) {
  rewrite_attention(d, block, [&d](Op& op, Attention& a, AroundAttention& around) {
    a.pass == Pass::kForward ? Ring(d, around).forward(op) : Ring(d, around).backward(op);
  });
}

}  // namespace plait
