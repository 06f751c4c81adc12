#include "realrun/bench/kernel_call.h"

#include <algorithm>

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

namespace plait {
namespace {

constexpr double kNormEpsilon = 1e-5;
constexpr double kDropped = 0.1;  // probability
/// Operands of ops whose shapes do not say it: samples, and head width of a rotation.
constexpr std::int64_t kSamples = 2, kHeadWidth = 64;
/// Of the gradient of a loss: small, so that logits that it overwrites stay numbers.
constexpr double kLossScale = 0.01;

struct Caller {
  OperandPool& pool;

  void operator()(const MatMul& g) const {
    const float* a = pool.input(g.batch * g.m * g.k);
    const float* b = pool.input(g.batch * g.n * g.k);
    float* out = pool.output(g.batch * g.m * g.n);
    switch (g.layout) {
      case GemmLayout::kNT: {
        const float* bias = g.bias ? pool.input(g.n) : nullptr;
        return kernels::gemm_nt(out, a, b, bias, g.m, g.n, g.k, g.batch, g.accumulate);
      }
      case GemmLayout::kNN:
        return kernels::gemm_nn(out, a, b, g.m, g.n, g.k, g.batch, g.accumulate);
      case GemmLayout::kTN: {
        float* dbias = g.bias ? pool.output(g.m) : nullptr;
        return kernels::gemm_tn(out, dbias, a, b, g.m, g.n, g.k, g.batch, g.accumulate);
      }
    }
  }
  void operator()(const Attention& a) const {
    const kernels::AttentionShape shape{a.seq_q,    a.batch,    a.heads,
                                        a.kv_heads, a.head_dim, a.causal};
    kernels::Dropout d;
    d.probability = a.dropout ? kDropped : 0;
    d.positions = a.seq_q, d.heads = a.heads;
    const std::int64_t tokens = a.seq_q * a.batch, packed = tokens * shape.row_width();
    const float* qkv = pool.input(packed);
    if (a.fused) return fused(a, shape, d, qkv);
    unfused(a, shape, d, qkv);
  }
  void operator()(const Norm& n) const {
    const bool layer_norm = n.kind == NormKind::kLayerNorm;
    const std::int64_t elements = n.rows * n.width;
    const float* x = pool.input(elements);
    const float* gamma = pool.input(n.width);
    if (n.pass == Pass::kForward) {
      float* y = pool.output(elements);
      float* stats = pool.output(2 * n.rows);
      if (!layer_norm) {
        return kernels::rms_norm_forward(y, stats, x, gamma, n.rows, n.width, kNormEpsilon);
      }
      return kernels::layer_norm_forward(y, stats, x, gamma, pool.input(n.width), n.rows, n.width,
                                         kNormEpsilon);
    }
    const float* dy = pool.input(elements);
    const float* stats = pool.input(2 * n.rows);
    float* dx = pool.output(elements);
    float* dgamma = pool.output(n.width);
    if (!layer_norm) {
      return kernels::rms_norm_backward(dx, dgamma, dy, x, stats, gamma, n.rows, n.width, true);
    }
    kernels::layer_norm_backward(dx, dgamma, pool.output(n.width), dy, x, stats, gamma, n.rows,
                                 n.width, true);
  }
  void operator()(const Activation& a) const {
    const auto f = static_cast<kernels::Nonlinearity>(a.kind);
    const std::int64_t elements = a.rows * a.width, inputs = a.gated ? 2 * elements : elements;
    const float* x = pool.input(inputs);
    if (a.pass == Pass::kForward) {
      return kernels::activation_forward(pool.output(elements), x, f, a.gated, a.rows, a.width);
    }
    const float* dy = pool.input(elements);
    kernels::activation_backward(pool.output(inputs), dy, x, f, a.gated, a.rows, a.width);
  }
  void operator()(const Rope& r) const {
    kernels::RopeShape shape;
    shape.batch = std::min(kSamples, r.rows), shape.sequence = r.rows / shape.batch;
    shape.head_dim = std::min(kHeadWidth, r.width), shape.heads = r.width / shape.head_dim;
    shape.row_width = r.width + r.width / 2;  // with the values that are not rotated
    float* packed = pool.state(r.rows * shape.row_width);
    r.pass == Pass::kForward ? kernels::rope_forward(packed, shape)
                             : kernels::rope_backward(packed, shape);
  }
  void operator()(const Embedding& e) const {
    const std::int64_t elements = e.rows * e.width;
    const bool forward = e.pass == Pass::kForward;
    const float* given = pool.input(elements);  // of the positions' input, or the gradient
    if (e.learned_positions) {
      const std::int64_t samples = std::min(kSamples, e.rows), sequence = e.rows / samples;
      if (forward) {
        return kernels::positions_forward(pool.output(elements), given,
                                          pool.input(e.vocab * e.width), sequence, samples, e.width,
                                          {});
      }
      return kernels::positions_backward(pool.output(e.vocab * e.width), given, sequence, samples,
                                         e.width, e.vocab, {}, true);
    }
    const std::int64_t* tokens = pool.tokens(e.rows, e.vocab);
    if (forward) {
      return kernels::embedding_forward(pool.output(elements), tokens,
                                        pool.input(e.vocab * e.width), e.rows, e.width, e.vocab, 0);
    }
    kernels::embedding_backward(pool.output(e.vocab * e.width), tokens, given, e.rows, e.width,
                                e.vocab, 0, true);
  }
  void operator()(const CrossEntropy& c) const {
    const std::int64_t elements = c.rows * c.vocab;
    using Step = CrossEntropy::Step;
    switch (c.step) {
      case Step::kRowMax:
        return kernels::cross_entropy_max(pool.output(c.rows), pool.input(elements), c.rows,
                                          c.vocab);
      case Step::kSums:
        return kernels::cross_entropy_sums(pool.output(2 * c.rows), pool.input(elements),
                                           pool.input(c.rows), pool.tokens(c.rows, c.vocab), c.rows,
                                           c.vocab, 0);
      case Step::kLoss:
        return kernels::cross_entropy_loss(pool.output(1), pool.positive(2 * c.rows), c.rows, 1.0);
      case Step::kGradient:
        return kernels::cross_entropy_gradient(
            pool.state(elements), pool.input(c.rows), pool.positive(2 * c.rows),
            pool.tokens(c.rows, c.vocab), c.rows, c.vocab, 0, kLossScale);
    }
  }
  void operator()(const Add& a) const {
    const std::int64_t elements = a.rows * a.width;
    if (a.pass != Pass::kForward) {
      return kernels::add_dropout_backward(pool.output(elements), pool.input(elements),
                                           pool.mask(elements), elements, kDropped);
    }
    const float* left = pool.input(elements);
    const float* right = pool.input(elements);
    const float* bias = a.bias ? pool.input(a.width) : nullptr;
    float* out = pool.output(elements);
    if (!a.dropout) return kernels::add(out, left, right, bias, a.rows, a.width);
    const std::int64_t samples = std::min(kSamples, a.rows);
    kernels::Dropout d;
    d.probability = kDropped, d.positions = a.rows / samples;
    kernels::add_dropout(out, pool.mask(elements), left, right, bias, a.rows / samples, samples,
                         a.width, d);
  }
  void operator()(const BiasGrad& b) const {
    kernels::bias_grad(pool.output(b.width), pool.input(b.rows * b.width), b.rows, b.width, true);
  }
  void operator()(const Cast& c) const {  // between types that are both fp32 in a real run
    const float* in = pool.input(c.elements);
    std::copy(in, in + c.elements, pool.output(c.elements));
  }
  void operator()(const Fill& f) const { kernels::fill(pool.output(f.elements), 0.0F, f.elements); }
  void operator()(const SquaredNorm& s) const {
    kernels::squared_norm(pool.output(1), pool.input(s.elements), s.elements, true);
  }
  void operator()(const Adam& a) const {
    kernels::adam<float>(nullptr, pool.state(a.elements), pool.state(a.elements),
                         pool.positive(a.elements), pool.input(a.elements), pool.positive(1),
                         a.elements, {});
  }

 private:
  void fused(const Attention& a, const kernels::AttentionShape& shape, const kernels::Dropout& d,
             const float* qkv) const {
    const std::int64_t tokens = a.seq_q * a.batch, out = tokens * a.heads * a.head_dim;
    if (a.pass == Pass::kForward) {
      return kernels::attention_fused_forward(pool.output(out), pool.output(tokens * a.heads), qkv,
                                              shape, d);
    }
    kernels::attention_fused_backward(pool.output(tokens * shape.row_width()), pool.input(out), qkv,
                                      pool.input(out), pool.input(tokens * a.heads), shape, d);
  }
  void unfused(const Attention& a, const kernels::AttentionShape& shape, const kernels::Dropout& d,
               const float* qkv) const {
    const std::int64_t tokens = a.seq_q * a.batch, out = tokens * a.heads * a.head_dim;
    const std::int64_t square = tokens * a.heads * a.seq_kv;
    std::uint8_t* mask = a.dropout ? pool.mask(square) : nullptr;
    if (a.pass == Pass::kForward) {
      float* dropped = a.dropout ? pool.output(square) : nullptr;
      return kernels::attention_unfused_forward(pool.output(out), pool.output(square), mask,
                                                dropped, qkv, shape, d);
    }
    const float* dropped = a.dropout ? pool.input(square) : nullptr;
    kernels::attention_unfused_backward(pool.output(tokens * shape.row_width()), pool.input(out),
                                        qkv, pool.input(out), pool.positive(square), mask, dropped,
                                        shape, d.probability);
  }
};

}  // namespace

std::function<void()> kernel_call(const Compute& op, OperandPool& pool) {
  return [op, &pool] { std::visit(Caller{pool}, op); };
}

}  // namespace plait
