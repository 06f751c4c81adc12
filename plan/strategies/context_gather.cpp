// Context parallelism by gathering: attention's queries stay where they are and meet the keys and
// values of all tokens, which are gathered before it, forward and again backward, and whose
// gradients are reduced and scattered behind it (Grattafiori et al. 2024, The Llama 3 Herd of
// Models, section 3.3.2; Megatron-LM's --cp-comm-type all_gather).
#include "plan/strategies/context_parallel.h"

namespace plait {
namespace {

/// Keys and values, or their gradients, on their way between a rank's packed rows and all tokens.
struct KeyValues {
  TensorId own;       // (s / cp, b, k | v)
  TensorId by_rank;   // (cp, s / cp, b, k | v), as gathered
  TensorId in_order;  // (s, b, k | v)
};

class Gathering {
 public:
  Gathering(Draft& d, AroundAttention& around) : d_(d), around_(around) {}

  void forward(Op op) {
    op.operands.push_back(gather("kv", op.operands[0]));
    around_.attend(std::move(op));
  }
  void backward(Op op) {
    const Operand keys = gather("kv_again", op.operands[1]);
    const TensorId dqkv = op.operands.back().tensor;
    const KeyValues gradient = declare("d_kv", d_.tensors[dqkv]);
    op.operands.insert(op.operands.end() - 1, {keys, {gradient.in_order, Use::kWrite, 0}});
    around_.attend(std::move(op));
    around_.copy({gradient.in_order, Use::kRead, 0}, {gradient.by_rank, Use::kWrite, 0});
    around_.exchange(CollectiveKind::kReduceScatter, Axis::kCp, gradient.by_rank, gradient.own,
                     gradient.by_rank);
    around_.copy({gradient.own, Use::kRead, 0}, {dqkv, Use::kUpdate, 0});
  }

 private:
  /// Keys and values of all tokens.
  Operand gather(const char* name, const Operand& qkv) {
    const KeyValues kv = declare(name, d_.tensors[qkv.tensor]);
    around_.copy({qkv.tensor, Use::kRead, qkv.shift}, {kv.own, Use::kWrite, 0});
    around_.exchange(CollectiveKind::kAllGather, Axis::kCp, kv.own, kv.by_rank, kv.by_rank);
    around_.copy({kv.by_rank, Use::kRead, 0}, {kv.in_order, Use::kWrite, 0});
    return {kv.in_order, Use::kRead, 0};
  }
  KeyValues declare(const std::string& name, const Tensor& packed) {
    const std::int64_t cp = d_.mesh()[Axis::kCp], s = d_.workload.sequence_length;
    Tensor t = keys_and_values(packed);
    KeyValues out{};
    out.own = around_.temporary(t, name);
    t.dims[0] = Dim{s}, out.in_order = around_.temporary(t, name + ".in_order");
    t.rank = 4, t.dims = {Dim{cp}, Dim{s / cp}, t.dims[1], t.dims[2]};
    out.by_rank = around_.temporary(t, name + ".by_rank");
    return out;
  }

  Draft& d_;
  AroundAttention& around_;
};

}  // namespace

void gather_keys(Draft& d, Block& block) {
  rewrite_attention(d, block, [&d](Op& op, Attention& a, AroundAttention& around) {
    a.balanced = true;
    Gathering gathering(d, around);
    a.pass == Pass::kForward ? gathering.forward(std::move(op)) : gathering.backward(std::move(op));
  });
}

}  // namespace plait
