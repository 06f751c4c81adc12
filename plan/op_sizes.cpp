#include "plan/op_sizes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "plan/places.h"

namespace plait {
namespace {

/// An operand, by its place among the op's, and how many elements of it the op works on.
struct Need {
  std::size_t operand = 0;
  std::int64_t elements = 0;
};
using Needs = std::vector<Need>;

class Needed {
 public:
  explicit Needed(const Op& op) : op_(op) {}

  Needs operator()(const MatMul& g) const {
    const std::int64_t a = g.batch * g.m * g.k, b = g.batch * g.n * g.k, out = g.batch * g.m * g.n;
    Needs needs = {{0, a}, {1, b}, {2, out}};
    if (g.bias) needs.push_back({3, g.pass == Pass::kWeightGrad ? g.m : g.n});
    return needs;
  }
  Needs operator()(const Attention& a) const {
    const std::int64_t queries = a.batch * a.seq_q * a.heads;
    if (a.pass == Pass::kForward) return {{0, queries * a.head_dim}, {1, queries * a.v_dim()}};
    const std::int64_t contexts = queries * a.v_dim();
    return {
        {0, contexts}, {1, queries * a.head_dim}, {2, contexts}, {last(), queries * a.head_dim}};
  }
  Needs operator()(const Norm& n) const {
    const std::int64_t all = n.rows * n.width;
    if (n.pass == Pass::kForward) return {{0, all}, {first_written(), all}};
    return {{0, all}, {1, all}, {4, all}};
  }
  Needs operator()(const HeadNorm& n) const {
    return {{0, n.rows * (n.normed_width() + n.value_width)}};
  }
  Needs operator()(const Activation& a) const {
    const std::int64_t result = a.rows * a.width, input = result * (a.gated ? 2 : 1);
    if (a.pass == Pass::kForward) return {{0, input}, {1, result}};
    return {{0, result}, {1, input}, {2, input}};
  }
  Needs operator()(const Gate& g) const {
    const std::int64_t all = g.rows * g.width, gates = g.per_row ? g.rows : all;
    if (g.pass == Pass::kForward) return {{0, all}, {1, gates}, {2, all}};
    return {{0, all}, {1, all}, {2, gates}, {3, all}, {4, gates}};
  }
  Needs operator()(const Rope& r) const { return {{0, r.rows * r.width}}; }
  /// Queries and rotary columns may be those of new tokens, beside keys that a cache had.
  Needs operator()(const LatentHeads& x) const {
    const std::int64_t a_head = x.rows * x.heads,
                       latent = a_head * (x.head_dim - x.rope_dim + x.value_dim),
                       packed = a_head * (2 * x.head_dim + x.value_dim);
    if (x.pass == Pass::kForward) return {{1, latent}, {3, packed}};
    return {{0, packed}, {2, latent}};
  }
  Needs operator()(const CausalConv& c) const {
    const std::int64_t all = c.rows * c.channels;
    return {{0, all}, {c.pass == Pass::kForward ? first_written() : 1, all}};
  }
  Needs operator()(const Scan& s) const {
    const std::int64_t all = s.seq * s.batch * s.heads * s.head_dim;
    return {{s.pass == Pass::kForward ? first_written() : 0, all}};
  }
  Needs operator()(const DeltaRule& r) const {
    const std::int64_t all = r.seq * r.batch * r.heads * r.value_dim;
    return {{r.pass == Pass::kForward ? first_written() : 0, all}};
  }
  Needs operator()(const GatedNorm& n) const {
    const std::int64_t all = n.rows * n.width;
    return {{0, all}, {first_written(), all}};
  }
  Needs operator()(const Embedding& e) const {
    const std::int64_t all = e.rows * e.width, table = e.vocab * e.width;
    if (e.pass == Pass::kForward) return {{1, table}, {2, all}};
    return {{last() - 1, all}, {last(), table}};
  }
  Needs operator()(const CrossEntropy& c) const {
    const std::int64_t all = c.rows * c.vocab;
    switch (c.step) {
      case CrossEntropy::Step::kRowMax: return {{0, all}, {1, c.rows}};
      case CrossEntropy::Step::kSums: return {{0, all}, {1, c.rows}, {3, 2 * c.rows}};
      case CrossEntropy::Step::kLoss: return {{0, 2 * c.rows}, {1, 1}};
      default: return {{0, all}, {1, c.rows}, {2, 2 * c.rows}};
    }
  }
  Needs operator()(const Route& r) const {
    const std::int64_t logits = r.rows() * r.experts, gates = r.rows() * r.chosen;
    if (r.pass == Pass::kForward) return {{0, logits}, {1, gates}, {2, gates}};
    return {{0, gates}, {1, gates}, {2, gates}, {3, logits}};
  }
  Needs operator()(const Dispatch& x) const {
    const std::int64_t tokens = x.rows * x.width, slots = x.slots * x.width;
    if (x.pass != Pass::kForward) return {{0, slots}, {2, tokens}};
    Needs needs = {{0, tokens}, {1, x.rows * x.chosen}, {2, slots}};
    if (x.senders > 0) needs.push_back({3, x.rows * x.chosen});
    return needs;
  }
  Needs operator()(const Combine& x) const {
    const std::int64_t tokens = x.rows * x.width, slots = x.slots * x.width;
    if (x.pass == Pass::kForward) return {{0, slots}, {last(), tokens}};
    if (!x.weighted) return {{0, tokens}, {2, slots}};
    return {{0, tokens}, {1, slots}, {4, slots}};
  }
  Needs operator()(const Add& a) const {
    const std::int64_t all = a.rows * a.width;
    Needs needs = {{0, all}, {1, all}};
    if (op_.operands.size() > 2 && op_.operands[2].use == Use::kWrite) needs.push_back({2, all});
    if (a.bias) needs.push_back({3, a.width});
    return needs;
  }
  Needs operator()(const BiasGrad& b) const { return {{0, b.rows * b.width}, {1, b.width}}; }
  Needs operator()(const Amax& m) const { return {{0, m.elements}}; }
  Needs operator()(const Adam& a) const {
    return {{0, a.elements}, {last() - 1, a.elements}, {last(), a.elements}};
  }
  // Casts are of what of one tensor lies in another, or of the tokens that a cache takes; the
  // others go over all of their operands, or over a share of them.
  Needs operator()(const Cast&) const { return {}; }
  Needs operator()(const Fill&) const { return {}; }
  Needs operator()(const SquaredNorm&) const { return {}; }

 private:
  std::size_t last() const { return op_.operands.size() - 1; }
  std::size_t first_written() const {
    std::size_t i = 0;
    while (i < op_.operands.size() && op_.operands[i].use == Use::kRead) ++i;
    return i;
  }

  const Op& op_;
};

Needs needs_of(const Op& op) {
  const Compute* c = std::get_if<Compute>(&op.body);
  return c == nullptr ? Needs() : std::visit(Needed(op), *c);
}

using Tensors = std::vector<Tensor>;

/// Elements of those operands that are used so, or updated: a collective's lie one behind the
/// other.
std::int64_t elements_that(Use use, const Tensors& tensors, const Mesh& mesh, const Op& op) {
  std::int64_t n = 0;
  for (const Operand& o : op.operands) {
    if (o.use == use || o.use == Use::kUpdate) n += tensors[o.tensor].elements(mesh);
  }
  return n;
}

/// The full buffer lies in what a reduce_scatter or all_to_all reads, and in what all others write.
/// What workers push and pull is shared out by roles; what has no operands is not looked at.
bool too_large(const Tensors& tensors, const Mesh& mesh, const Op& op, const Collective& c) {
  const bool served = c.kind == CollectiveKind::kPush || c.kind == CollectiveKind::kPull;
  if (served || op.operands.empty()) return false;
  const bool read = c.kind == CollectiveKind::kReduceScatter || c.kind == CollectiveKind::kAllToAll;
  return elements_that(read ? Use::kRead : Use::kWrite, tensors, mesh, op) < c.first + c.elements;
}

/// Rows that the op reads may be the cache's, beside those of the operand that they are more of.
bool reads_cache(const Tensors& tensors, const Op& op) {
  return std::ranges::any_of(op.operands, [&](const Operand& o) {
    return o.use == Use::kRead && tensors[o.tensor].kind == TensorClass::kKvCache;
  });
}

/// What is wrong with the op on ranks of that mesh, or "".
std::string misfit(const Tensors& tensors, const Mesh& mesh, const Op& op) {
  for (const Need& need : needs_of(op)) {
    if (need.operand >= op.operands.size()) return "lacks an operand";
    const Operand& o = op.operands[need.operand];
    const Tensor& t = tensors[o.tensor];
    const std::int64_t has = t.elements(mesh);
    if (has < need.elements && !(o.use == Use::kRead && reads_cache(tensors, op))) {
      return "works on " + std::to_string(need.elements) + " elements of " + t.name +
             ", which has " + std::to_string(has);
    }
  }
  const Collective* c = std::get_if<Collective>(&op.body);
  if (c == nullptr || !too_large(tensors, mesh, op, *c)) return "";
  return "moves " + std::to_string(c->first + c->elements) +
         " elements, more than its tensors have";
}

}  // namespace

void check_op_sizes(const Plan& plan, FaultList& faults) {
  std::map<std::int64_t, std::vector<bool>> checked;  // blocks, by the stage's tp degree
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    const Mesh mesh = mesh_of(plan, static_cast<std::int64_t>(s));
    std::vector<bool>& done = checked[mesh[Axis::kTp]];
    done.resize(plan.blocks.size());
    const std::vector<Call>& calls = plan.programs[s].calls;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      if (done[calls[c].block]) continue;
      done[calls[c].block] = true;
      const Block& block = plan.blocks[calls[c].block];
      for (const Op& op : block.ops) {
        const std::string what = misfit(plan.tensors, mesh, op);
        if (what.empty()) continue;
        faults.add(FaultKind::kSize, s, c,
                   std::string(name_of(op)) + " in " + block.name + " " + what);
      }
    }
  }
}

}  // namespace plait
