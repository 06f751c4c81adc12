#include <algorithm>
#include <limits>
#include <string>

#include "core/error.h"
#include "kernels/activation.h"
#include "kernels/adam.h"
#include "kernels/add.h"
#include "kernels/attention.h"
#include "kernels/bias_grad.h"
#include "kernels/cross_entropy.h"
#include "kernels/drop.h"
#include "kernels/embedding.h"
#include "kernels/fill.h"
#include "kernels/gate.h"
#include "kernels/gemm.h"
#include "kernels/largest_magnitude.h"
#include "kernels/latent_heads.h"
#include "kernels/nf4.h"
#include "kernels/norm.h"
#include "kernels/nvfp4.h"
#include "kernels/rope.h"
#include "kernels/squared_norm.h"
#include "realrun/compute.h"
#include "realrun/compute/copy.h"
#include "realrun/compute/cpu_states.h"
#include "realrun/compute/op_view.h"
#include "realrun/compute/quantized.h"
#include "realrun/rounding.h"

namespace plait {
namespace {

template <class T>
class CpuCompute : private OpView {
 public:
  CpuCompute(const RunContext& c, const Operands& operands, const Op& op, const Call& call)
      : OpView(c, op, call), operands_(operands) {}

  void operator()(const MatMul& g) {
    if (g.ring_step >= 0) return product_of_share(g);
    T* out = at(2);
    T* bias = g.bias ? at(3) : nullptr;
    const bool accumulate = updates(2);
    const std::size_t kept = g.bias ? 4 : 3;
    if (g.pass == Pass::kForward && kept < count()) return product_in_sections(g, kept);
    switch (g.layout) {
      case GemmLayout::kNT:
        return kernels::gemm_nt(out, at(0), at(1), bias, g.m, g.n, g.k, g.batch, accumulate);
      case GemmLayout::kNN:
        return kernels::gemm_nn(out, at(0), at(1), g.m, g.n, g.k, g.batch, accumulate);
      case GemmLayout::kTN:
        return kernels::gemm_tn(out, bias, at(0), at(1), g.m, g.n, g.k, g.batch, accumulate);
    }
  }
  void operator()(const Attention& a) {
    const bool forward = a.pass == Pass::kForward;
    const kernels::AttentionShape shape = shape_of(a);
    const kernels::Dropout d = dropout_of(a);
    const std::size_t last = count() - 1;
    const bool masks = a.dropout && !a.fused;
    if (forward) {
      const kernels::Packed<const T> rows(at(0), a.balanced ? at(last) : nullptr);
      if (a.fused) return kernels::attention_fused_forward(at(1), at(2), rows, shape, d);
      return kernels::attention_unfused_forward(at(1), at(2), masks ? mask(3) : nullptr,
                                                masks ? at(4) : nullptr, rows, shape, d);
    }
    const kernels::Packed<const T> rows(at(1), a.balanced ? at(last - 2) : nullptr);
    const kernels::Packed<T> gradients(at(last), a.balanced ? at(last - 1) : nullptr);
    if (a.fused) {
      return kernels::attention_fused_backward(gradients, at(0), rows, at(2), at(3), shape, d);
    }
    kernels::attention_unfused_backward(gradients, at(0), rows, at(2), at(3),
                                        masks ? mask(4) : nullptr, masks ? at(5) : nullptr, shape,
                                        d.probability);
  }
  void operator()(const Norm& n) {
    const bool layer_norm = n.kind == NormKind::kLayerNorm;
    if (n.pass == Pass::kForward) {
      T* y = at(layer_norm ? 3 : 2);
      T* stats = at(layer_norm ? 4 : 3);
      if (layer_norm) {
        return kernels::layer_norm_forward(y, stats, at(0), at(1), at(2), n.rows, n.width,
                                           kNormEpsilon);
      }
      return kernels::rms_norm_forward(y, stats, at(0), at(1), n.rows, n.width, kNormEpsilon);
    }
    const bool all = n.pass == Pass::kBackward, accumulate = all && updates(5);
    if (layer_norm) {
      return kernels::layer_norm_backward(at(4), all ? at(5) : nullptr, all ? at(6) : nullptr,
                                          at(0), at(1), at(2), at(3), n.rows, n.width, accumulate);
    }
    kernels::rms_norm_backward(at(4), all ? at(5) : nullptr, at(0), at(1), at(2), at(3), n.rows,
                               n.width, accumulate);
  }
  void operator()(const HeadNorm& n) {
    const kernels::NormedHeads queries = queries_of(n), keys = keys_of(n);
    const std::int64_t key = n.query_width(), value = n.normed_width();
    if (n.pass == Pass::kForward) {
      T *out = at(3), *stats = at(4);
      const T* in = at(0);
      kernels::head_norm_forward(out, stats, in, at(1), queries, kNormEpsilon);
      kernels::head_norm_forward(out + key, stats + n.heads, in + key, at(2), keys, kNormEpsilon);
      for (std::int64_t r = 0; r < n.rows; ++r) {
        const std::int64_t row = r * queries.row_width + value;
        std::copy_n(in + row, n.value_width, out + row);
      }
      return;
    }
    T* d = at(0);
    const T *x = at(1), *stats = at(2);
    const bool all = n.pass == Pass::kBackward;
    kernels::head_norm_backward(d, all ? at(5) : nullptr, d, x, stats, at(3), queries,
                                all && updates(5));
    kernels::head_norm_backward(d + key, all ? at(6) : nullptr, d + key, x + key, stats + n.heads,
                                at(4), keys, all && updates(6));
  }
  void operator()(const Activation& a) {
    const auto f = static_cast<kernels::Nonlinearity>(a.kind);
    if (a.weighted && a.pass == Pass::kForward) {
      return kernels::weighted_activation_forward(at(1), at(0), at(2), f, a.gated, a.rows, a.width);
    }
    if (a.weighted) {
      return kernels::weighted_activation_backward(at(2), at(4), at(0), at(1), at(3), f, a.gated,
                                                   a.rows, a.width);
    }
    if (a.pass == Pass::kForward) {
      return kernels::activation_forward(at(1), at(0), f, a.gated, a.rows, a.width);
    }
    kernels::activation_backward(at(2), at(0), at(1), f, a.gated, a.rows, a.width);
  }
  void operator()(const Rope& r) {
    r.pass == Pass::kForward ? kernels::rope_forward(at(0), shape_of(r))
                             : kernels::rope_backward(at(0), shape_of(r));
  }
  void operator()(const LatentHeads& x) {
    if (x.pass == Pass::kForward) {
      return kernels::latent_heads_forward(at(3), at(0), at(1), at(2), shape_of(x));
    }
    kernels::latent_heads_backward(at(1), at(2), at(3), at(0), shape_of(x));
  }
  void operator()(const Gate& g) {
    const std::int64_t gates = g.per_row ? 1 : g.width;
    if (g.pass == Pass::kForward) {
      return kernels::gate_forward(at(2), at(0), at(1), g.rows, g.width, gates);
    }
    kernels::gate_backward(at(3), at(4), at(0), at(1), at(2), g.rows, g.width, gates);
  }
  void operator()(const CausalConv& c) { states()(c); }
  void operator()(const Scan& s) { states()(s); }
  void operator()(const DeltaRule& r) { states()(r); }
  void operator()(const GatedNorm& n) { states()(n); }
  void operator()(const Embedding& e) {
    const std::size_t last = count() - 1;
    if (e.learned_positions) {
      const std::size_t activation = e.pass == Pass::kForward ? 2 : 0;
      const std::int64_t s = dim(activation, 0), b = dim(activation, 1);
      const kernels::Positions place = place_of(activation);
      if (e.pass == Pass::kForward) {
        return kernels::positions_forward(at(2), at(0), at(1), s, b, e.width, place, e.run);
      }
      return kernels::positions_backward(at(last), at(0), s, b, e.width, e.vocab, place,
                                         updates(last), e.run);
    }
    const std::size_t table = e.pass == Pass::kForward ? 1 : last;
    const std::int64_t offset = e.vocab * share_of(table, 0);
    if (e.pass == Pass::kForward) {
      return kernels::embedding_forward(at(2), tokens(0), at(1), e.rows, e.width, e.vocab, offset);
    }
    kernels::embedding_backward(at(last), tokens(0), at(1), e.rows, e.width, e.vocab, offset,
                                updates(last));
  }
  void operator()(const CrossEntropy& c) {
    using Step = CrossEntropy::Step;
    const double scale = c.weight * loss_scale();
    const std::int64_t offset = vocab_offset(c);
    switch (c.step) {
      case Step::kRowMax: return kernels::cross_entropy_max(at(1), at(0), c.rows, c.vocab);
      case Step::kSums:
        return kernels::cross_entropy_sums(at(3), at(0), at(1), tokens(2), c.rows, c.vocab, offset);
      case Step::kLoss: return kernels::cross_entropy_loss(at(1), at(0), c.rows, scale);
      case Step::kGradient:
        return kernels::cross_entropy_gradient(at(0), at(1), at(2), tokens(3), c.rows, c.vocab,
                                               offset, scale);
    }
  }
  void operator()(const Route& r) {
    if (r.pass == Pass::kForward) {
      return kernels::route_forward(at(1), operands_.at<std::int64_t>(2), at(0), routing_of(r));
    }
    const kernels::Routing routing = routing_of(r);
    const std::int64_t* slots = slots_in(2, -routing.experts, routing.experts * routing.capacity);
    kernels::route_backward(at(3), at(0), at(1), slots, routing);
  }
  void operator()(const Dispatch& x) {
    const std::int64_t* slots = x.senders > 0 ? own_slots(x) : slots_in(1, kAnyDropped, x.slots);
    if (x.pass == Pass::kForward) {
      return kernels::dispatch_forward(at(2), at(0), slots, x.rows, x.chosen, x.slots, x.width);
    }
    kernels::dispatch_backward(at(2), at(0), slots, x.rows, x.chosen, x.width);
  }
  void operator()(const Combine& x) {
    const bool forward = x.pass == Pass::kForward;
    if (!x.weighted) return (*this)(reversed(x));
    const std::int64_t* slots = slots_in(forward ? 2 : 3, kAnyDropped, x.slots);
    if (forward) {
      return kernels::combine_forward(at(3), at(0), at(1), slots, x.rows, x.chosen, x.width);
    }
    kernels::combine_backward(at(4), at(5), at(0), at(1), at(2), slots, x.rows, x.chosen, x.slots,
                              x.width);
  }
  void operator()(const Add& a) {
    if (a.scaled) return add_scaled(a);
    if (a.pass != Pass::kForward) {
      return kernels::add_dropout_backward(at(2), at(0), mask(1), a.rows * a.width,
                                           a.alone ? a.probability : context_.model.dropout);
    }
    if (a.alone) return drop(a);
    if (count() == 2) return kernels::add<T>(at(1), at(1), at(0), nullptr, a.rows, a.width);
    T* bias = a.bias ? at(3) : nullptr;
    if (!a.dropout) return kernels::add(at(2), at(0), at(1), bias, a.rows, a.width);
    const std::size_t where = count() - 1;
    kernels::add_dropout(at(2), mask(where), at(0), at(1), bias, dim(2, 0), dim(2, 1), a.width,
                         dropout_of_sum(where));
  }
  void operator()(const BiasGrad& b) {
    kernels::bias_grad(at(1), at(0), b.rows, b.width, updates(1));
  }
  void operator()(const Cast& c) {
    if (c.from == DType::kNf4 && c.to != c.from) return dequantise(c);
    if (c.to == DType::kNvfp4 && c.from == DType::kBf16) return round_to_blocks();
    if (is_quantized(tensor(1))) {
      const auto shares = shares_of(tensor(1), tensor(2), tensor(0), plan_.mesh);
      return kernels::quantize_shares(mask(1), at(2), at(0), shares);
    }
    if (is_quantized(tensor(0))) {
      const auto shares = shares_of(tensor(0), tensor(1), tensor(2), plan_.mesh);
      return kernels::dequantize_shares(at(2), mask(0), at(1), shares, owes_sum(tensor(0)));
    }
    if (takes_share(1)) {
      std::copy_n(at(0) + share_taken(1) * elements(1), elements(1), at(1));
      return;
    }
    if (fills_share(1)) {
      std::copy_n(at(0), elements(0), at(1) + share_of(0, 0) * elements(0));
      return;
    }
    if (takes_columns(1)) return take_columns();
    if (c.accumulate) return kernels::add<T>(at(1), at(1), at(0), nullptr, 1, elements(0));
    for (std::size_t i = 1; i < count() && !reads(i); ++i) {
      copy_elements(at(i), tensor(i), at(0), tensor(0), plan_.mesh);
    }
  }
  void operator()(const Fill&) {
    for (std::size_t i = 0; i < count(); ++i) kernels::fill(at(i), T{0}, elements(i));
  }
  void operator()(const SquaredNorm&) {
    if (!updates(0)) *at(0) = 0;
    for (const Part& p : counted_squares()) {
      kernels::squared_norm(at(0), at(p), p.elements, true);
    }
  }
  void operator()(const Amax&) {
    T* largest = at(1);
    for (const Part& p : parts_by_weight()) {
      *largest++ = kernels::largest_magnitude(at(p), p.elements);
    }
  }
  void operator()(const Copy&) {
    const auto size = static_cast<std::int64_t>(element_size(tensor(0).dtype));
    const Copied c = copied();
    std::copy_n(mask(0) + c.from * size, c.elements * size, mask(1) + c.to * size);
  }
  void operator()(const Adam& a) {
    const AdamParts p = adam_parts();
    kernels::adam(p.copies ? at(p.weight) : nullptr, at(p.master), at(p.first), at(p.second),
                  at(p.gradient), p.clips ? at(1) : nullptr, a.elements, p.settings);
  }

 private:
  void add_scaled(const Add& a) {
    if (a.pass == Pass::kForward) {
      return kernels::add_scaled(at(1) + first_column(0, 1), at(0), a.scale, a.rows, a.width,
                                 width(1));
    }
    kernels::add_scaled_backward(at(1), at(0) + first_column(1, 0), a.scale, a.rows, a.width,
                                 width(0));
  }
  void drop(const Add& a) {
    kernels::Dropout d = dropout_of_sum(2);
    d.probability = a.probability;
    kernels::drop(at(1), mask(2), at(0), dim(0, 0), dim(0, 1), a.width, share_of(0, 2) * a.width,
                  d);
  }
  /// From nf4, with scales that are there, or restored first.
  void dequantise(const Cast& c) {
    if (c.nested) kernels::dequantize_scales(at(3), at(1), at(2), elements(1));
    const std::size_t scales = c.nested ? 3 : 1;
    kernels::dequantize_nf4(at(scales + 1), at(0), at(scales), c.elements);
  }
  /// To nvfp4, in blocks along rows and, of a second copy, along columns; those of weights are
  /// squares. Neither rotated nor rounded at random, which would change what is lost, not what is
  /// read.
  void round_to_blocks() {
    const std::int64_t columns = width(0), rows = elements(0) / columns;
    const bool weight = tensor(0).kind == TensorClass::kWeight;
    for (std::size_t i = 1; i < count(); ++i) {
      const bool down = weight || i == 2, along = weight || i == 1;
      kernels::round_to_nvfp4(at(i), at(0), rows, columns,
                              {down ? kNvfp4Block : 1, along ? kNvfp4Block : 1});
    }
  }
  static constexpr std::int64_t kAnyDropped = std::numeric_limits<std::int64_t>::min();
  /// The slots in `operand`, least .. all - 1. Where a plan lacks what would have written them,
  /// they are anything.
  const std::int64_t* slots_in(std::size_t operand, std::int64_t least, std::int64_t all) {
    const std::int64_t* slots = tokens(operand);
    PLAIT_CHECK(std::all_of(slots, slots + elements(operand),
                            [=](std::int64_t s) { return s >= least && s < all; }),
                "tokens in slots that there are not");
    return slots;
  }
  const std::int64_t* own_slots(const Dispatch& x) {
    std::int64_t* own = operands_.at<std::int64_t>(3);
    const std::int64_t* slots = slots_in(1, kAnyDropped, slots_of_a_sender(x));
    kernels::own_slots(own, slots, gathered_slots_of(x));
    return own;
  }
  /// Of whole rows (operand 0), this rank's columns.
  void take_columns() {
    const std::int64_t whole = width(0), own = width(1);
    const T* from = at(0) + share_of(1, 2) * own;
    for (std::int64_t r = 0; r * own < elements(1); ++r) {
      std::copy_n(from + r * whole, own, at(1) + r * own);
    }
  }
  /// y = x w^T row by row and section by section; sections that the operand `kept` has are taken
  /// from it if it is read, and else left in it too.
  void product_in_sections(const MatMul& g, std::size_t kept) {
    const bool again = reads(kept);
    const std::int64_t y_width = dim(2, 2), kept_width = dim(kept, 2);
    for (const Section& s : sections_of(kept)) {
      for (std::int64_t row = 0; row < g.m; ++row) {
        T* y = at(2) + row * y_width + s.first;
        T* copy = at(kept) + row * kept_width + s.first_kept;
        if (s.kept && again) {
          std::copy_n(copy, s.columns, y);
          continue;
        }
        kernels::gemm_nt(y, at(0) + row * g.k, at(1) + s.first * g.k,
                         g.bias ? at(3) + s.first : nullptr, 1, s.columns, g.k, 1, false);
        if (s.kept) std::copy_n(y, s.columns, copy);
      }
    }
  }
  /// y = x w^T for the rows of one rank, of whichever has those of all ranks.
  void product_of_share(const MatMul& g) {
    const RowsOfRank rows = rows_of_rank(g);
    kernels::gemm_nt(at(2) + rows.y, at(0) + rows.x, at(1), g.bias ? at(3) : nullptr, g.m, g.n, g.k,
                     1, false);
  }
  /// As Buffers holds them.
  static std::size_t element_size(DType t) {
    return t == DType::kInt64 || t == DType::kInt32 || t == DType::kInt8
               ? static_cast<std::size_t>(size_of(t))
               : sizeof(T);
  }
  CpuStates<T> states() { return {*this, operands_}; }
  T* at(std::size_t i) { return operands_.at<T>(i); }
  const std::int64_t* tokens(std::size_t i) { return operands_.at<std::int64_t>(i); }
  std::uint8_t* mask(std::size_t i) { return operands_.at<std::uint8_t>(i); }
  T* at(const Part& p) { return at(p.operand) + p.first; }

  const Operands& operands_;
};

}  // namespace

template <class T>
void compute(const RunContext& context, const Operands& operands, const Op& op, const Call& call) {
  CpuCompute<T> on_cpu(context, operands, op, call);
  if (const Copy* copy = std::get_if<Copy>(&op.body)) return on_cpu(*copy);
  std::visit(on_cpu, std::get<Compute>(op.body));
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (op.operands[i].use == Use::kRead) continue;
    const Tensor& t = context.plan.tensors[op.operands[i].tensor];
    if (t.dtype != DType::kBf16) continue;  // masks are bytes
    round_to(operands.at<T>(i), t.elements(context.plan.mesh), t.dtype);
  }
}

template void compute<float>(const RunContext&, const Operands&, const Op&, const Call&);
template void compute<double>(const RunContext&, const Operands&, const Op&, const Call&);

}  // namespace plait
