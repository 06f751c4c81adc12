#pragma once
// What a compute op asks of its kernel, read off the plan for one rank: shapes and places of its
// operands, the dropout of its place, the parts that are the rank's own. Devices differ only in the
// kernels that they then call.

#include <string>
#include <vector>

#include "kernels/adam.h"
#include "kernels/attention.h"
#include "kernels/causal_conv.h"
#include "kernels/delta_rule.h"
#include "kernels/dropout.h"
#include "kernels/gated_norm.h"
#include "kernels/latent_heads.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "kernels/route.h"
#include "kernels/scan.h"
#include "realrun/compute.h"
#include "realrun/exchange.h"

namespace plait {

inline constexpr double kNormEpsilon = 1e-5;  // of GPT-2's and Llama 3's norms

/// Which operand is which is said in plan/op.h.
class OpView {
 public:
  OpView(const RunContext& c, const Op& op, const Call& call)
      : context_(c), plan_(c.plan), op_(op), call_(call) {}

  const Mesh& mesh() const { return plan_.mesh; }
  std::size_t count() const { return op_.operands.size(); }
  const Tensor& tensor(std::size_t i) const { return plan_.tensors[op_.operands.at(i).tensor]; }
  bool updates(std::size_t i) const { return op_.operands.at(i).use == Use::kUpdate; }
  bool reads(std::size_t i) const { return op_.operands.at(i).use == Use::kRead; }
  std::int64_t dim(std::size_t i, std::size_t d) const {
    return tensor(i).dims[d].local(plan_.mesh);
  }
  std::int64_t elements(std::size_t i) const { return tensor(i).elements(plan_.mesh); }
  /// Of the last dimension.
  std::int64_t width(std::size_t i) const {
    return dim(i, static_cast<std::size_t>(tensor(i).rank - 1));
  }
  /// This rank's index among the shares of dimension d of operand i.
  std::int64_t share_of(std::size_t i, std::size_t d) const {
    return context_.rank.share(plan_.mesh, tensor(i).dims[d].sharded);
  }
  /// Of a Copy between places: elements of the whole flat buffer or of this rank's share of it.
  struct Copied {
    std::int64_t from = 0, to = 0, elements = 0;
  };
  Copied copied() const;
  /// A copy from a whole flat buffer, or whole rows (operand 0), to this rank's share of them.
  bool takes_share(std::size_t i) const {
    if (tensor(0).rank != tensor(i).rank) return false;
    return tensor(0).rank == 1 ? elements(i) < elements(0) : dim(i, 0) < dim(0, 0);
  }
  /// Which of the shares of operand 0 operand i is.
  std::int64_t share_taken(std::size_t i) const {
    const AxisSet over = tensor(i).dims[0].sharded - tensor(0).dims[0].sharded;
    return context_.rank.share(plan_.mesh, over);
  }
  /// A copy of this rank's share (operand 0) into a whole flat buffer.
  bool fills_share(std::size_t i) const {
    return tensor(0).rank == 1 && tensor(i).rank == 1 && elements(i) > elements(0);
  }
  /// A copy of whole rows (operand 0) that takes the columns which are this rank's.
  bool takes_columns(std::size_t i) const {
    const bool rows = tensor(0).rank == 3 && tensor(i).rank == 3;
    return rows && tensor(0).dims[2].global == tensor(i).dims[2].global && width(i) < width(0);
  }
  /// Where the tokens of operand `i` stand in the sequence.
  kernels::Positions place_of(std::size_t i) const {
    return positions_of(tensor(i).dims[0], plan_.mesh, context_.rank);
  }
  /// Of an op at `place`, or none.
  kernels::Dropout dropout(const std::string& place, double probability) const;
  /// Of a scaled Add: where the columns of operand `part` begin in those of operand `whole`.
  std::int64_t first_column(std::size_t part, std::size_t whole) const;
  /// Of an Add with dropout, whose mask is operand `mask`.
  kernels::Dropout dropout_of_sum(std::size_t mask) const;

  kernels::AttentionShape shape_of(const Attention& a) const;
  kernels::Dropout dropout_of(const Attention& a) const;
  kernels::RopeShape shape_of(const Rope& r) const;
  /// Queries, or the keys behind them.
  static kernels::NormedHeads queries_of(const HeadNorm& n) {
    return {n.rows, n.heads, n.head_dim, n.normed_width() + n.value_width, n.heads + n.kv_heads};
  }
  static kernels::NormedHeads keys_of(const HeadNorm& n) {
    kernels::NormedHeads keys = queries_of(n);
    keys.heads = n.kv_heads, keys.width = n.key_dim;
    return keys;
  }
  static kernels::LatentShape shape_of(const LatentHeads& x) {
    return {x.rows, x.heads, x.head_dim - x.rope_dim, x.rope_dim, x.value_dim};
  }
  // Of a mixer with states, with operand `packed`, [z | x | B | C | dt] or [z | q | k | v | beta
  // and alpha], and the tokens of `rows`.
  kernels::ConvShape shape_of(const CausalConv& c, std::size_t packed, std::size_t rows) const {
    const Dim& columns = tensor(packed).dims[2];
    const std::int64_t gate = columns.sections[0] / plan_.mesh.size_of(columns.sharded);
    return {dim(rows, 0), dim(rows, 1), c.channels, c.width, dim(packed, 2), gate};
  }
  kernels::ScanShape shape_of(const Scan& s, std::size_t packed) const {
    return {s.seq, s.batch, s.heads, s.head_dim, s.groups, s.state, s.chunk, dim(packed, 2)};
  }
  kernels::DeltaRuleShape shape_of(const DeltaRule& r, std::size_t packed) const {
    return {r.seq, r.batch, r.heads, r.value_dim, r.groups, r.key_dim, r.chunk, dim(packed, 2)};
  }
  kernels::GatedNormShape shape_of(const GatedNorm& n, std::size_t packed) const {
    return {n.rows, n.width, n.groups, dim(packed, 2)};
  }
  static kernels::Routing routing_of(const Route& r) {
    return {r.tokens, r.groups, r.experts, r.chosen, r.capacity};
  }
  /// Of a Dispatch of gathered tokens: its results are (own experts, slots of all senders, width).
  kernels::GatheredSlots gathered_slots_of(const Dispatch& x) const {
    const std::int64_t experts = dim(2, 0), first = share_of(2, 0) * experts;
    return {x.rows, x.chosen, x.senders, first, experts, dim(2, 1) / x.senders};
  }
  /// Slots of all experts, of one of the senders.
  std::int64_t slots_of_a_sender(const Dispatch& x) const {
    return tensor(2).dims[0].global * dim(2, 1) / x.senders;
  }
  /// Without gates: the same operands, in the other direction.
  static Dispatch reversed(const Combine& x) {
    const Pass pass = x.pass == Pass::kForward ? Pass::kBackward : Pass::kForward;
    return {pass, x.rows, x.width, x.chosen, x.slots, x.dtype};
  }
  /// What one token counts for in the loss.
  double loss_scale() const { return 1.0 / static_cast<double>(context_.trained_tokens); }
  /// First token of this rank's share of the vocabulary.
  std::int64_t vocab_offset(const CrossEntropy& c) const {
    return c.step == CrossEntropy::Step::kLoss ? 0 : c.vocab * share_of(0, 2);
  }
  /// A product of the rows that one rank has of all (MatMul::ring_step): in elements, where they
  /// begin in x and in y; 0 for the one that has no others.
  struct RowsOfRank {
    std::int64_t x = 0, y = 0;
  };
  RowsOfRank rows_of_rank(const MatMul& g) const;
  /// A product whose columns are sections of which some outlive it: where they are in y and kept.
  struct Section {
    std::int64_t first = 0, columns = 0;  // of y
    bool kept = false;
    std::int64_t first_kept = 0;  // of the operand that keeps it
  };
  std::vector<Section> sections_of(std::size_t kept) const;
  /// Parts of the gradients whose squares this rank counts.
  std::vector<Part> counted_squares() const;

  /// Of a share of a unit's master (operand 0), what is of each of its weights, or of each
  /// expert's; none of some.
  std::vector<Part> parts_by_weight() const;

  /// The operands of an optimizer step: this rank's part of each.
  struct AdamParts {
    kernels::AdamSettings settings;
    bool clips = false;  // operand 1 is the norm
    Part gradient, master, first, second;
    bool copies = false;  // there is a weight besides the master
    Part weight;
  };
  AdamParts adam_parts() const;

 protected:
  const RunContext& context_;
  const Plan& plan_;
  const Op& op_;
  const Call& call_;

 private:
  Part own_share(std::size_t i, AxisSet axes) const;
  void add_squares(std::vector<Part>& to, std::size_t i) const;
};

}  // namespace plait
