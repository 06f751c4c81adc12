#include <algorithm>
#include <string>

#include "core/error.h"
#include "kernels/activation.h"
#include "kernels/adam.h"
#include "kernels/add.h"
#include "kernels/attention.h"
#include "kernels/bias_grad.h"
#include "kernels/cross_entropy.h"
#include "kernels/embedding.h"
#include "kernels/fill.h"
#include "kernels/gemm.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "kernels/squared_norm.h"
#include "realrun/compute.h"
#include "realrun/compute/copy.h"
#include "realrun/rounding.h"
#include "realrun/start_values.h"
#include "realrun/unit_buffers.h"

namespace plait {
namespace {

constexpr double kNormEpsilon = 1e-5;  // of GPT-2's and Llama 3's norms

template <class T>
class CpuCompute {
 public:
  CpuCompute(const RunContext& c, const Operands& operands, const Op& op, const Call& call)
      : c_(c), plan_(c.plan), operands_(operands), op_(op), call_(call) {}

  void operator()(const MatMul& g) {
    T* out = at(2);
    T* bias = g.bias ? at(3) : nullptr;
    const bool accumulate = updates(2);
    const std::size_t kept = g.bias ? 4 : 3;
    if (kept < op_.operands.size()) return product_in_sections(g, kept);
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
    kernels::AttentionShape shape{a.seq_q, a.batch, a.heads, a.kv_heads, a.head_dim, a.causal};
    shape.place = place_of(forward ? 0 : 1);
    if (a.balanced) shape.other_keys = a.seq_kv;
    kernels::Dropout d = dropout("attention", a.dropout);
    d.heads = c_.model.heads, d.place = shape.place;
    d.head_offset = a.heads * share_of(forward ? 0 : 1, 2);
    const std::size_t last = op_.operands.size() - 1;
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
    const bool accumulate = updates(5);
    if (layer_norm) {
      return kernels::layer_norm_backward(at(4), at(5), at(6), at(0), at(1), at(2), at(3), n.rows,
                                          n.width, accumulate);
    }
    kernels::rms_norm_backward(at(4), at(5), at(0), at(1), at(2), at(3), n.rows, n.width,
                               accumulate);
  }
  void operator()(const Activation& a) {
    const auto f = static_cast<kernels::Nonlinearity>(a.kind);
    if (a.pass == Pass::kForward) {
      return kernels::activation_forward(at(1), at(0), f, a.gated, a.rows, a.width);
    }
    kernels::activation_backward(at(2), at(0), at(1), f, a.gated, a.rows, a.width);
  }
  void operator()(const Rope& r) {
    kernels::RopeShape shape;
    shape.sequence = dim(0, 0), shape.batch = dim(0, 1), shape.row_width = dim(0, 2);
    shape.head_dim = c_.model.head_dim, shape.heads = r.width / c_.model.head_dim;
    shape.place = place_of(0);
    r.pass == Pass::kForward ? kernels::rope_forward(at(0), shape)
                             : kernels::rope_backward(at(0), shape);
  }
  void operator()(const Embedding& e) {
    const std::size_t last = op_.operands.size() - 1;
    if (e.learned_positions) {
      const std::size_t activation = e.pass == Pass::kForward ? 2 : 0;
      const std::int64_t s = dim(activation, 0), b = dim(activation, 1);
      const kernels::Positions place = place_of(activation);
      if (e.pass == Pass::kForward) {
        return kernels::positions_forward(at(2), at(0), at(1), s, b, e.width, place);
      }
      return kernels::positions_backward(at(last), at(0), s, b, e.width, e.vocab, place,
                                         updates(last));
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
    const double scale = 1.0 / static_cast<double>(plan_.tokens_per_step);
    using Step = CrossEntropy::Step;
    const std::int64_t offset = c.step == Step::kLoss ? 0 : c.vocab * share_of(0, 2);
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
  void operator()(const Add& a) {
    if (a.pass != Pass::kForward) {
      return kernels::add_dropout_backward(at(2), at(0), mask(1), a.rows * a.width,
                                           c_.model.dropout);
    }
    if (op_.operands.size() == 2)
      return kernels::add<T>(at(1), at(1), at(0), nullptr, a.rows, a.width);
    T* bias = a.bias ? at(3) : nullptr;
    if (!a.dropout) return kernels::add(at(2), at(0), at(1), bias, a.rows, a.width);
    const std::size_t where = op_.operands.size() - 1;
    kernels::Dropout d = dropout(tensor(where).name, true);
    d.place = place_of(2);
    kernels::add_dropout(at(2), mask(where), at(0), at(1), bias, dim(2, 0), dim(2, 1), a.width, d);
  }
  void operator()(const BiasGrad& b) {
    kernels::bias_grad(at(1), at(0), b.rows, b.width, updates(1));
  }
  void operator()(const Cast&) {
    for (std::size_t i = 1; i < op_.operands.size(); ++i) {
      copy_elements(at(i), tensor(i), at(0), tensor(0), plan_.mesh);
    }
  }
  void operator()(const Fill&) {
    for (std::size_t i = 0; i < op_.operands.size(); ++i) kernels::fill(at(i), T{0}, elements(i));
  }
  void operator()(const SquaredNorm&) {
    *at(0) = 0;
    const std::vector<UnitBuffers> units = unit_buffers(plan_);
    for (std::size_t i = 1; i < op_.operands.size(); ++i) {
      const TensorId t = op_.operands[i].tensor;
      for (const UnitBuffers& u : units) {
        if (u.gradients == t || u.gradient_shard == t) add_squares(u, i);
      }
    }
  }
  void operator()(const Adam& a) {
    const std::size_t n = op_.operands.size();
    const bool clips = tensor(1).dims[0].global == 1 && tensor(1).kind == TensorClass::kBuffer;
    const std::size_t states = clips ? 2 : 1;  // first operand of what is updated
    kernels::AdamSettings s;
    s.step = c_.step, s.learning_rate = c_.learning_rate;
    const AxisSet axes = tensor(n - 1).dims[0].sharded;  // of the moments
    const Piece g = own_share(0, axes);
    T* master = nullptr;
    T* weight = nullptr;
    for (std::size_t i = states; i + 2 < n; ++i) {
      const Piece p = own_share(i, axes);
      (tensor(i).kind == TensorClass::kOptimizer ? master : weight) = at(i) + p.first;
    }
    if (master == nullptr) master = weight, weight = nullptr;
    PLAIT_CHECK(master != nullptr, "an optimizer step without weights");
    kernels::adam(weight, master, at(n - 2), at(n - 1), at(0) + g.first, clips ? at(1) : nullptr,
                  a.elements, s);
  }

 private:
  struct Piece {
    std::int64_t first, count;
  };
  /// y = x w^T row by row and section by section; sections that the operand `kept` has are taken
  /// from it if it is read, and else left in it too.
  void product_in_sections(const MatMul& g, std::size_t kept) {
    const bool again = op_.operands[kept].use == Use::kRead;
    const auto& sections = tensor(2).dims[2].sections;
    const std::int64_t shards = plan_.mesh.size_of(tensor(2).dims[2].sharded);
    const std::int64_t y_width = dim(2, 2), kept_width = dim(kept, 2);
    std::int64_t first = 0, first_kept = 0;  // columns
    for (std::size_t i = 0; i < sections.size(); ++i) {
      const std::int64_t n = sections[i] / shards;
      const bool in_kept = tensor(kept).dims[2].sections[i] > 0;
      for (std::int64_t row = 0; row < g.m; ++row) {
        T* y = at(2) + row * y_width + first;
        T* copy = at(kept) + row * kept_width + first_kept;
        if (in_kept && again) {
          std::copy_n(copy, n, y);
          continue;
        }
        kernels::gemm_nt(y, at(0) + row * g.k, at(1) + first * g.k,
                         g.bias ? at(3) + first : nullptr, 1, n, g.k, 1, false);
        if (in_kept) std::copy_n(y, n, copy);
      }
      first += n, first_kept += in_kept ? n : 0;
    }
  }
  const Tensor& tensor(std::size_t i) const { return plan_.tensors[op_.operands.at(i).tensor]; }
  T* at(std::size_t i) { return operands_.at<T>(i); }
  const std::int64_t* tokens(std::size_t i) { return operands_.at<std::int64_t>(i); }
  std::uint8_t* mask(std::size_t i) { return operands_.at<std::uint8_t>(i); }
  bool updates(std::size_t i) const { return op_.operands.at(i).use == Use::kUpdate; }
  std::int64_t dim(std::size_t i, std::size_t d) const {
    return tensor(i).dims[d].local(plan_.mesh);
  }
  std::int64_t elements(std::size_t i) const { return tensor(i).elements(plan_.mesh); }
  std::int64_t share_of(std::size_t i, std::size_t d) const {
    return c_.rank.share(plan_.mesh, tensor(i).dims[d].sharded);
  }
  /// Where the tokens of operand `i` stand in the sequence.
  kernels::Positions place_of(std::size_t i) const {
    return positions_of(tensor(i).dims[0], plan_.mesh, c_.rank);
  }
  /// Elements of operand `i` that are this rank's to deal with, where they are sharded over `axes`
  /// and the operand may be whole (zero_stage 1 reduces whole buffers in place).
  Piece own_share(std::size_t i, AxisSet axes) const {
    const std::int64_t n = elements(i);
    if (!tensor(i).dims[0].sharded.empty() || axes.empty()) return {0, n};
    const std::int64_t share = n / plan_.mesh.size_of(axes);
    return {share * c_.rank.share(plan_.mesh, axes), share};
  }
  /// Adds the squares of this rank's share of the unit, operand `i`, without what other ranks
  /// count.
  void add_squares(const UnitBuffers& unit, std::size_t i) {
    const AxisSet axes = plan_.tensors[unit.moment].dims[0].sharded;
    const std::int64_t whole = plan_.tensors[unit.gradients].elements(plan_.mesh);
    const std::int64_t share = whole / plan_.mesh.size_of(axes);
    const std::int64_t first = share * c_.rank.share(plan_.mesh, axes);
    const std::int64_t start = elements(i) == whole ? 0 : first;  // of the operand, in the unit
    for (TensorId view : unit.gradient_views) {
      const Tensor& t = plan_.tensors[view];
      if (c_.rank.share(plan_.mesh, t.counted_once) != 0) continue;
      const std::int64_t begin = std::max(t.offset, first);
      const std::int64_t end = std::min(t.offset + t.elements(plan_.mesh), first + share);
      if (begin < end) kernels::squared_norm(at(0), at(i) + begin - start, end - begin, true);
    }
  }
  kernels::Dropout dropout(const std::string& place, bool on) const {
    kernels::Dropout d;
    if (!on) return d;
    d.probability = c_.model.dropout;
    // Recomputation draws the same mask: its tensor is called after the first one.
    d.seed = hash_of(place.substr(0, place.find('.'))) +
             static_cast<std::uint64_t>(call_.layer) * 0x9E3779B97F4A7C15ULL +
             static_cast<std::uint64_t>(c_.step) * 0xD1B54A32D192ED03ULL;
    d.positions = plan_.tensors[0].dims[0].global;  // tokens
    const std::int64_t b = plan_.tensors[0].dims[1].global;
    d.sample_offset = (c_.rank.data_index(plan_.mesh) * plan_.microbatches + call_.microbatch) * b;
    return d;
  }

  const RunContext& c_;
  const Plan& plan_;
  const Operands& operands_;
  const Op& op_;
  const Call& call_;
};

}  // namespace

template <class T>
void compute(const RunContext& context, const Operands& operands, const Op& op, const Call& call) {
  std::visit(CpuCompute<T>(context, operands, op, call), std::get<Compute>(op.body));
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
