#pragma once
// One compute op as a call of its kernel, with operands from a pool: the same for processors and
// GPUs, whose kernels take a queue first and then what their twins take. Tensors of activations and
// weights have the op's type, gradients, statistics and logits are float.

#include <algorithm>

#include "core/error.h"
#include "kernels/activation.h"
#include "kernels/adam.h"
#include "kernels/attention.h"
#include "kernels/dropout.h"
#include "kernels/rope.h"
#include "model/op.h"
#include "realrun/compute/op_view.h"

namespace plait {

/// Machine is
///   queue()                       what kernels take first; they are found in its namespace
///   pool()                        operands (realrun/bench/pool.h)
///   with_type(dtype, f)           f(T{}) for the machine's type of elements in `dtype`
///   zero(float*, elements)        sets elements to zero
template <class Machine>
class KernelCaller {
 public:
  explicit KernelCaller(Machine& machine)
      : machine_(machine), pool_(machine.pool()), q_(machine.queue()) {}

  void operator()(const MatMul& g) const {
    machine_.with_type(g.in, [&]<class T>(T) {
      const T* a = input<T>(g.batch * g.m * g.k);
      const T* b = input<T>(g.batch * g.n * g.k);
      const std::int64_t size = g.batch * g.m * g.n;
      switch (g.layout) {
        case GemmLayout::kNT: {
          const T* bias = g.bias ? input<T>(g.n) : nullptr;
          return gemm_nt(q_, output<T>(size), a, b, bias, g.m, g.n, g.k, g.batch, g.accumulate);
        }
        case GemmLayout::kNN:
          return gemm_nn(q_, output<T>(size), a, b, g.m, g.n, g.k, g.batch, g.accumulate);
        case GemmLayout::kTN: {
          float* dbias = g.bias ? output<float>(g.m) : nullptr;
          return gemm_tn(q_, output<float>(size), dbias, a, b, g.m, g.n, g.k, g.batch,
                         g.accumulate);
        }
      }
    });
  }
  void operator()(const Attention& a) const {
    kernels::AttentionShape shape{a.seq_q, a.batch, a.heads, a.kv_heads, a.head_dim, a.causal};
    shape.window = a.window;
    kernels::Dropout d;
    d.probability = a.dropout ? kDropped : 0;
    d.positions = a.seq_q, d.heads = a.heads;
    machine_.with_type(
        a.dtype, [&]<class T>(T) { a.fused ? fused<T>(a, shape, d) : unfused<T>(a, shape, d); });
  }
  void operator()(const Norm& n) const {
    machine_.with_type(n.dtype, [&]<class T>(T) {
      n.pass == Pass::kForward ? norm_forward<T>(n) : norm_backward<T>(n);
    });
  }
  void operator()(const Activation& a) const {
    const auto f = static_cast<kernels::Nonlinearity>(a.kind);
    const std::int64_t elements = a.rows * a.width, inputs = a.gated ? 2 * elements : elements;
    machine_.with_type(a.dtype, [&]<class T>(T) {
      const T* x = input<T>(inputs);
      if (a.pass == Pass::kForward) {
        return activation_forward(q_, output<T>(elements), x, f, a.gated, a.rows, a.width);
      }
      const T* dy = input<T>(elements);
      activation_backward(q_, output<T>(inputs), dy, x, f, a.gated, a.rows, a.width);
    });
  }
  void operator()(const Rope& r) const {
    kernels::RopeShape shape;
    shape.batch = std::min(kSamples, r.rows), shape.sequence = r.rows / shape.batch;
    shape.head_dim = std::min(kHeadWidth, r.width), shape.heads = r.width / shape.head_dim;
    shape.row_width = r.width + r.width / 2;  // with the values that are not rotated
    machine_.with_type(r.dtype, [&]<class T>(T) {
      T* packed = pool_.template state<T>(r.rows * shape.row_width);
      r.pass == Pass::kForward ? rope_forward(q_, packed, shape) : rope_backward(q_, packed, shape);
    });
  }
  void operator()(const HeadNorm&) const {
    PLAIT_CHECK(false, "norms of heads are of the class of other norms, which is measured");
  }
  void operator()(const LatentHeads&) const {
    PLAIT_CHECK(false, "rows of latent attention are not measured alone");
  }
  void operator()(const CausalConv&) const { refuse_states(); }
  void operator()(const Scan&) const { refuse_states(); }
  void operator()(const GatedNorm&) const { refuse_states(); }
  void operator()(const DeltaRule&) const { refuse_states(); }
  void operator()(const Gate&) const { refuse_states(); }
  void operator()(const Embedding& e) const {
    machine_.with_type(
        e.dtype, [&]<class T>(T) { e.learned_positions ? positions<T>(e) : token_rows<T>(e); });
  }
  void operator()(const CrossEntropy& c) const {
    const std::int64_t elements = c.rows * c.vocab;
    using Step = CrossEntropy::Step;
    switch (c.step) {
      case Step::kRowMax:
        return cross_entropy_max(q_, output<float>(c.rows), input<float>(elements), c.rows,
                                 c.vocab);
      case Step::kSums:
        return cross_entropy_sums(q_, output<float>(2 * c.rows), input<float>(elements),
                                  input<float>(c.rows), pool_.tokens(c.rows, c.vocab), c.rows,
                                  c.vocab, 0);
      case Step::kLoss:
        return cross_entropy_loss(q_, output<float>(1), positive<float>(2 * c.rows), c.rows, 1.0);
      case Step::kGradient:
        return cross_entropy_gradient(q_, pool_.template state<float>(elements),
                                      input<float>(c.rows), positive<float>(2 * c.rows),
                                      pool_.tokens(c.rows, c.vocab), c.rows, c.vocab, 0,
                                      kLossScale);
    }
  }
  // No grid holds them: what they cost depends on where tokens go.
  void operator()(const Route&) const { refuse_experts(); }
  void operator()(const Dispatch&) const { refuse_experts(); }
  void operator()(const Combine&) const { refuse_experts(); }
  void operator()(const Add& a) const {
    machine_.with_type(a.dtype, [&]<class T>(T) { sum<T>(a); });
  }
  void operator()(const BiasGrad& b) const {
    machine_.with_type(b.dtype, [&]<class T>(T) {
      bias_grad(q_, output<float>(b.width), input<T>(b.rows * b.width), b.rows, b.width, true);
    });
  }
  void operator()(const Cast& c) const {
    machine_.with_type(c.from, [&]<class From>(From) {
      machine_.with_type(c.to, [&]<class To>(To) {
        cast(q_, output<To>(c.elements), input<From>(c.elements), c.elements);
      });
    });
  }
  void operator()(const Fill& f) const { machine_.zero(output<float>(f.elements), f.elements); }
  void operator()(const SquaredNorm& s) const {
    squared_norm(q_, output<float>(1), input<float>(s.elements), s.elements, true);
  }
  void operator()(const Amax&) const {
    PLAIT_CHECK(false, "magnitudes of weights in 8 bits are not measured alone");
  }
  void operator()(const Adam& a) const {
    const std::int64_t n = a.elements;
    machine_.with_type(a.weight, [&]<class T>(T) {
      T* copy = a.weight == a.master ? nullptr : output<T>(n);
      adam(q_, copy, pool_.template state<float>(n), pool_.template state<float>(n),
           positive<float>(n), input<float>(n), positive<float>(1), n, kernels::AdamSettings{});
    });
  }

 private:
  static constexpr double kDropped = 0.1;  // probability
  /// Operands of ops whose shapes do not say it: samples, and head width of a rotation.
  static constexpr std::int64_t kSamples = 2, kHeadWidth = 64;
  /// Of the gradient of a loss: small, so that logits that it overwrites stay numbers.
  static constexpr double kLossScale = 0.01;

  static void refuse_states() {
    PLAIT_CHECK(false, "gates and kernels of mixers with states are not measured alone");
  }
  static void refuse_experts() { PLAIT_CHECK(false, "routing is not measured alone"); }
  template <class T>
  const T* input(std::int64_t n) const {
    return pool_.template input<T>(n);
  }
  template <class T>
  T* positive(std::int64_t n) const {
    return pool_.template positive<T>(n);
  }
  template <class T>
  T* output(std::int64_t n) const {
    return pool_.template output<T>(n);
  }

  template <class T>
  void norm_forward(const Norm& n) const {
    const std::int64_t elements = n.rows * n.width;
    const T* x = input<T>(elements);
    const T* gamma = input<T>(n.width);
    T* y = output<T>(elements);
    float* stats = output<float>(2 * n.rows);
    if (n.kind == NormKind::kRmsNorm) {
      return rms_norm_forward(q_, y, stats, x, gamma, n.rows, n.width, kNormEpsilon);
    }
    layer_norm_forward(q_, y, stats, x, gamma, input<T>(n.width), n.rows, n.width, kNormEpsilon);
  }
  template <class T>
  void norm_backward(const Norm& n) const {
    const std::int64_t elements = n.rows * n.width;
    const T* x = input<T>(elements);
    const T* gamma = input<T>(n.width);
    const T* dy = input<T>(elements);
    const float* stats = input<float>(2 * n.rows);
    T* dx = output<T>(elements);
    float* dgamma = output<float>(n.width);
    if (n.kind == NormKind::kRmsNorm) {
      return rms_norm_backward(q_, dx, dgamma, dy, x, stats, gamma, n.rows, n.width, true);
    }
    layer_norm_backward(q_, dx, dgamma, output<float>(n.width), dy, x, stats, gamma, n.rows,
                        n.width, true);
  }
  template <class T>
  void positions(const Embedding& e) const {
    const std::int64_t samples = std::min(kSamples, e.rows), sequence = e.rows / samples;
    const T* given = input<T>(e.rows * e.width);  // the input, or the gradient
    if (e.pass == Pass::kForward) {
      return positions_forward(q_, output<T>(e.rows * e.width), given, input<T>(e.vocab * e.width),
                               sequence, samples, e.width, kernels::Positions{}, e.run);
    }
    positions_backward(q_, output<float>(e.vocab * e.width), given, sequence, samples, e.width,
                       e.vocab, kernels::Positions{}, true, e.run);
  }
  template <class T>
  void token_rows(const Embedding& e) const {
    const std::int64_t* tokens = pool_.tokens(e.rows, e.vocab);
    if (e.pass == Pass::kForward) {
      return embedding_forward(q_, output<T>(e.rows * e.width), tokens, input<T>(e.vocab * e.width),
                               e.rows, e.width, e.vocab, 0);
    }
    embedding_backward(q_, output<float>(e.vocab * e.width), tokens, input<T>(e.rows * e.width),
                       e.rows, e.width, e.vocab, 0, true);
  }
  template <class T>
  void sum(const Add& a) const {
    const std::int64_t elements = a.rows * a.width;
    if (a.pass != Pass::kForward) {
      return add_dropout_backward(q_, output<T>(elements), input<T>(elements), pool_.mask(elements),
                                  elements, kDropped);
    }
    const T* left = input<T>(elements);
    const T* right = input<T>(elements);
    const T* bias = a.bias ? input<T>(a.width) : nullptr;
    T* out = output<T>(elements);
    if (!a.dropout) return add(q_, out, left, right, bias, a.rows, a.width);
    const std::int64_t samples = std::min(kSamples, a.rows);
    kernels::Dropout d;
    d.probability = kDropped, d.positions = a.rows / samples;
    add_dropout(q_, out, pool_.mask(elements), left, right, bias, a.rows / samples, samples,
                a.width, d);
  }
  template <class T>
  void fused(const Attention& a, const kernels::AttentionShape& shape,
             const kernels::Dropout& d) const {
    const std::int64_t tokens = a.seq_q * a.batch, out = tokens * a.heads * a.head_dim;
    const std::int64_t packed = tokens * shape.row_width(), rows = tokens * a.heads;
    const T* qkv = input<T>(packed);
    if (a.pass == Pass::kForward) {
      return attention_fused_forward(q_, output<T>(out), output<float>(rows), qkv, shape, d);
    }
    attention_fused_backward(q_, output<T>(packed), input<T>(out), qkv, input<T>(out),
                             input<float>(rows), shape, d);
  }
  template <class T>
  void unfused(const Attention& a, const kernels::AttentionShape& shape,
               const kernels::Dropout& d) const {
    const std::int64_t tokens = a.seq_q * a.batch, out = tokens * a.heads * a.head_dim;
    const std::int64_t packed = tokens * shape.row_width(), square = tokens * a.heads * a.seq_kv;
    const T* qkv = input<T>(packed);
    std::uint8_t* mask = a.dropout ? pool_.mask(square) : nullptr;
    if (a.pass == Pass::kForward) {
      T* dropped = a.dropout ? output<T>(square) : nullptr;
      return attention_unfused_forward(q_, output<T>(out), output<T>(square), mask, dropped, qkv,
                                       shape, d);
    }
    const T* dropped = a.dropout ? input<T>(square) : nullptr;
    const T* probabilities = positive<T>(square);
    const std::uint8_t* kept = mask;
    attention_unfused_backward(q_, output<T>(packed), input<T>(out), qkv, input<T>(out),
                               probabilities, kept, dropped, shape, d.probability);
  }

  Machine& machine_;
  decltype(std::declval<Machine&>().pool())& pool_;
  decltype(std::declval<Machine&>().queue()) q_;
};

}  // namespace plait
