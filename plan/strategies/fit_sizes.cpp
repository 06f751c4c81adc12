// Sizes of op bodies from the local shapes of their operands. Rows of an activation (s, b, width)
// are s b tokens. Operand order is the one in plan/op.h.
#include <algorithm>
#include <utility>

#include "core/error.h"
#include "plan/strategies/draft.h"
#include "plan/strategies/layout.h"

namespace plait {
namespace {

class Fitter {
 public:
  Fitter(const Draft& d, const Op& op) : d_(d), op_(op) {}

  void operator()(MatMul& g) const {
    const std::size_t dy_or_x = 0, w_or_x = 1;
    const Tensor& weight = tensor(g.pass == Pass::kWeightGrad ? 2 : 1);
    const bool grouped = weight.rank == 3;  // (experts, out, in) on (experts, slots, width)
    g.batch = grouped ? dim(dy_or_x, 0) : 1;
    const std::int64_t tokens = grouped ? dim(dy_or_x, 1) : rows(dy_or_x);
    if (!grouped && !is_adapter(d_, op_)) g.packed = packed_in(weight);
    switch (g.pass) {
      case Pass::kWeightGrad:  // (out, in) = dy^T (out, tokens) x (tokens, in)
        g.m = last(dy_or_x), g.n = last(w_or_x), g.k = tokens;
        break;
      case Pass::kInputGrad:  // (tokens, in) = dy (tokens, out) w (out, in)
        g.m = tokens, g.n = last(w_or_x), g.k = last(dy_or_x);
        break;
      default:  // (tokens, out) = x (tokens, in) w^T (in, out)
        g.m = tokens, g.n = dim(w_or_x, grouped ? 1 : 0), g.k = last(dy_or_x);
        if (g.ring_step >= 0) g.m = std::min(rows(0), rows(2));  // one of them has all ranks' rows
        if (const std::size_t kept = g.bias ? 4 : 3; reads(kept)) {
          g.n -= last(kept);
          for (std::size_t i = 0; i < g.packed.columns.size(); ++i) {
            if (tensor(kept).dims[2].sections[i] > 0) g.packed.columns[i] = 0;
          }
        }
    }
  }
  void operator()(Attention& a) const {
    const std::size_t qkv = a.pass == Pass::kForward ? 0 : 1;
    const auto [heads, kv_heads] = heads_of(qkv);
    a.batch = dim(qkv, 1);
    a.seq_q = dim(qkv, 0);
    a.seq_kv =
        a.ring_step < 0 ? d_.workload.sequence_length : a.seq_q;  // a block is a rank's share
    a.heads = heads, a.kv_heads = kv_heads;
    a.head_dim = d_.model.head_dim, a.value_dim = d_.model.v_head_dim;
    a.documents = a.balanced ? d_.documents.largest_share(d_.mesh()[Axis::kCp], a.window)
                             : d_.documents.sizes(a.window);
  }
  void operator()(Norm& n) const { n.rows = rows(0), n.width = last(0); }
  void operator()(HeadNorm& n) const {
    const std::size_t qkv = n.pass == Pass::kForward ? 0 : 1;
    const Model& m = d_.model;
    const auto [heads, kv_heads] = heads_of(qkv);
    n.rows = rows(qkv);
    n.head_dim = m.normed_query_width(), n.key_dim = m.normed_key_width();
    n.heads = heads * m.head_dim / n.head_dim, n.kv_heads = kv_heads * m.head_dim / n.key_dim;
    n.value_width = last(qkv) - n.normed_width();
  }
  void operator()(Activation& a) const {
    const std::size_t out = a.pass == Pass::kForward ? 1 : 0;
    a.rows = rows(out), a.width = last(out);
  }
  void operator()(Gate& g) const { g.rows = rows(0), g.width = last(0); }
  void operator()(Rope& r) const {
    const Model& m = d_.model;
    r.rows = rows(0);
    r.width =
        (m.heads + m.kv_heads) * m.rotated_dim() / d_.mesh().size_of(tensor(0).dims[2].sharded);
    if (!m.latent_attention()) return;
    const std::int64_t heads = std::max<std::int64_t>(1, last(0) / m.head_dim);  // shared: one
    r.width = heads * m.rope_head_dim;
  }
  void operator()(LatentHeads& x) const {
    const Model& m = d_.model;
    const std::size_t queries = x.pass == Pass::kForward ? 0 : 1;
    x.rows = rows(queries), x.heads = last(queries) / m.head_dim;
    x.head_dim = m.head_dim, x.value_dim = m.value_dim(), x.rope_dim = m.rope_head_dim;
  }
  void operator()(CausalConv& c) const {
    const bool forward = c.pass == Pass::kForward;
    const std::size_t out = forward ? (c.bias ? 3 : 2) : 0;
    c.rows = rows(out), c.channels = last(out), c.width = last(forward ? 1 : 2);
  }
  void operator()(Scan& s) const {
    const Model& m = d_.model;
    const std::size_t y = s.pass == Pass::kForward ? 5 : 0,
                      steps = s.pass == Pass::kForward ? 2 : 3;
    s.seq = dim(y, 0), s.batch = dim(y, 1), s.heads = last(steps);
    s.head_dim = m.state_head_dim, s.state = m.state_size, s.chunk = m.scan_chunk;
    s.groups = m.state_groups * s.heads / m.state_heads;
  }
  void operator()(DeltaRule& r) const {
    const Model& m = d_.model;
    const bool forward = r.pass == Pass::kForward;
    const std::size_t y = forward ? 4 : 0, decays = forward ? 2 : 5;
    r.seq = dim(y, 0), r.batch = dim(y, 1), r.heads = last(decays);
    r.value_dim = m.state_head_dim, r.key_dim = m.state_size, r.chunk = m.scan_chunk;
    r.groups = m.state_groups * r.heads / m.state_heads;
  }
  void operator()(GatedNorm& n) const {
    n.rows = rows(0), n.width = last(0);
    const std::int64_t all = n.gate_last ? d_.model.state_heads : d_.model.state_groups;
    n.groups = all * n.width / d_.model.state_width();
  }
  void operator()(Embedding& e) const {
    const bool forward = e.pass == Pass::kForward;
    const std::size_t table = forward ? 1 : op_.operands.size() - 1;
    const std::size_t activation = forward ? 2 : table - 1;
    e.rows = rows(activation), e.width = last(activation), e.vocab = dim(table, 0);
  }
  void operator()(CrossEntropy& c) const {
    c.rows = rows(0);
    c.vocab = c.step == CrossEntropy::Step::kLoss ? 1 : last(0);
  }
  void operator()(Route& r) const {
    const bool forward = r.pass == Pass::kForward;
    const std::size_t logits = forward ? 0 : 3, gates = 1;
    r.tokens = dim(logits, 0), r.groups = dim(logits, 1);
    r.experts = last(logits), r.chosen = last(gates);
  }
  void operator()(Dispatch& x) const {
    const bool forward = x.pass == Pass::kForward;
    const std::size_t tokens = forward ? 0 : 2, filled = forward ? 2 : 0;
    x.rows = rows(tokens), x.width = last(tokens), x.chosen = last(1), x.slots = rows(filled);
    if (x.gates) x.rows *= x.chosen, x.width = x.chosen = 1;  // each number is a row
  }
  void operator()(Combine& x) const {
    const bool forward = x.pass == Pass::kForward;
    std::size_t tokens = forward ? 3 : 0, filled = forward ? 0 : 1, chosen = forward ? 1 : 2;
    if (!x.weighted) tokens = forward ? 2 : 0, filled = forward ? 0 : 2, chosen = 1;
    x.rows = rows(tokens), x.width = last(tokens), x.slots = rows(filled), x.chosen = last(chosen);
  }
  void operator()(Add& a) const {
    a.rows = rows(0), a.width = a.scaled ? std::min(last(0), last(1)) : last(0);
  }
  void operator()(BiasGrad& b) const { b.rows = rows(0), b.width = last(0); }
  void operator()(Cast& c) const {
    if (c.from == DType::kInt8 || c.to == DType::kInt8) {  // the numbers, not their bytes
      c.elements = tensor(c.to == DType::kInt8 ? 0 : 2).elements(d_.mesh());
      return;
    }
    if (c.from == DType::kNf4 && c.to != c.from) {
      c.elements = tensor(0).elements(d_.mesh());
      return;
    }
    // What of one lies in the other.
    c.elements = std::min(tensor(0).elements(d_.mesh()), tensor(1).elements(d_.mesh()));
  }
  void operator()(Fill& f) const { f.elements = total(0); }
  void operator()(SquaredNorm&) const {
  }  // covers a share of its operands: apply_optimizer says how much
  void operator()(Amax& m) const { m.elements = tensor(0).elements(d_.mesh()); }
  void operator()(Adam& a) const {
    a.elements = tensor(op_.operands.size() - 1).elements(d_.mesh());
  }

 private:
  /// Query heads and key heads of this rank in packed rows [q | k | v].
  std::pair<std::int64_t, std::int64_t> heads_of(std::size_t operand) const {
    const Dim& packed = tensor(operand).dims[2];
    const std::int64_t a_head = d_.model.head_dim * d_.mesh().size_of(packed.sharded);
    return {packed.sections[0] / a_head, packed.sections[1] / a_head};
  }
  const Tensor& tensor(std::size_t operand) const {
    return d_.tensors[op_.operands.at(operand).tensor];
  }
  bool reads(std::size_t operand) const {
    return operand < op_.operands.size() && op_.operands[operand].use == Use::kRead;
  }
  std::int64_t dim(std::size_t operand, std::size_t i) const {
    return tensor(operand).dims[i].local(d_.mesh());
  }
  std::int64_t last(std::size_t operand) const {
    return dim(operand, static_cast<std::size_t>(tensor(operand).rank - 1));
  }
  /// Tokens of an activation; a flat buffer is one row.
  std::int64_t rows(std::size_t operand) const {
    return tensor(operand).rank == 1 ? 1 : dim(operand, 0) * dim(operand, 1);
  }
  std::int64_t total(std::size_t from) const {
    std::int64_t n = 0;
    for (std::size_t i = from; i < op_.operands.size(); ++i) n += tensor(i).elements(d_.mesh());
    return n;
  }

  const Draft& d_;
  const Op& op_;
};

}  // namespace

void fit_sizes(Draft& draft, Block& block) {
  for (Op& op : block.ops) {
    if (Compute* c = std::get_if<Compute>(&op.body)) std::visit(Fitter(draft, op), *c);
    if (Copy* c = std::get_if<Copy>(&op.body)) {  // what of one lies in the other
      const Tensor& from = draft.tensors[op.operands.at(0).tensor];
      const Tensor& to = draft.tensors[op.operands.at(1).tensor];
      *c = {from.place, to.place, std::min(from.bytes(draft.mesh()), to.bytes(draft.mesh()))};
    }
  }
}

}  // namespace plait
