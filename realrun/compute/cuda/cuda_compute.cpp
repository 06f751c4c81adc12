#include "realrun/compute/cuda/cuda_compute.h"

#include <cuda_bf16.h>

#include "core/error.h"
#include "kernels/cuda/activation.h"
#include "kernels/cuda/adam.h"
#include "kernels/cuda/add.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/bias_grad.h"
#include "kernels/cuda/cast.h"
#include "kernels/cuda/check.h"
#include "kernels/cuda/cross_entropy.h"
#include "kernels/cuda/embedding.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/latent_heads.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/rope.h"
#include "kernels/cuda/route.h"
#include "kernels/cuda/squared_norm.h"
#include "realrun/compute/cuda/cuda_adapter.h"
#include "realrun/compute/cuda/cuda_cast.h"
#include "realrun/compute/cuda/element_types.h"
#include "realrun/compute/op_view.h"

namespace plait::cuda {
namespace {

namespace k = kernels::cuda;
using Bf16 = __nv_bfloat16;

class CudaCompute : private OpView {
 public:
  CudaCompute(const k::Queue& q, const RunContext& c, const Operands& operands, const Op& op,
              const Call& call, const ForAttention& for_attention)
      : OpView(c, op, call),
        q_(q),
        operands_(operands),
        library_(for_attention.library),
        bounds_(for_attention.bounds) {}

  void operator()(const MatMul& g) {
    with_types(type(2), type(0), [&]<class Y, class X>(Y, X) {
      const bool accumulate = updates(2);
      switch (g.layout) {
        case GemmLayout::kNT: return product(g, at<Y>(2), at<X>(0), at<X>(1));
        case GemmLayout::kNN:
          return k::gemm_nn(q_, at<Y>(2), at<X>(0), at<X>(1), g.m, g.n, g.k, g.batch, accumulate);
        case GemmLayout::kTN:
          return k::gemm_tn(q_, at<Y>(2), g.bias ? at<Y>(3) : nullptr, at<X>(0), at<X>(1), g.m, g.n,
                            g.k, g.batch, accumulate);
      }
    });
  }
  void operator()(const Attention& a) {
    with_type(type(a.pass == Pass::kForward ? 0 : 1), [&]<class T>(T) {
      a.pass == Pass::kForward ? attention<T>(a) : attention_backward<T>(a);
    });
  }
  void operator()(const Norm& n) {
    const bool layer_norm = n.kind == NormKind::kLayerNorm;
    if (n.pass == Pass::kForward) {
      return with_type(type(0), [&]<class T>(T) {
        if (layer_norm) {
          return k::layer_norm_forward(q_, at<T>(3), at<float>(4), at<T>(0), at<T>(1), at<T>(2),
                                       n.rows, n.width, kNormEpsilon);
        }
        k::rms_norm_forward(q_, at<T>(2), at<float>(3), at<T>(0), at<T>(1), n.rows, n.width,
                            kNormEpsilon);
      });
    }
    const bool all = n.pass == Pass::kBackward, adds = all && updates(5);
    with_types(all ? type(5) : DType::kFp32, type(0), [&]<class G, class T>(G, T) {
      G* dgamma = all ? at<G>(5) : nullptr;
      if (layer_norm) {
        return k::layer_norm_backward(q_, at<T>(4), dgamma, all ? at<G>(6) : nullptr, at<T>(0),
                                      at<T>(1), at<float>(2), at<T>(3), n.rows, n.width, adds);
      }
      k::rms_norm_backward(q_, at<T>(4), dgamma, at<T>(0), at<T>(1), at<float>(2), at<T>(3), n.rows,
                           n.width, adds);
    });
  }
  void operator()(const HeadNorm& n) {
    n.pass == Pass::kForward ? head_norm(n) : head_norm_backward(n);
  }
  void operator()(const Activation& a) {
    const auto f = static_cast<kernels::Nonlinearity>(a.kind);
    with_type(type(0), [&]<class T>(T) {
      if (a.weighted && a.pass == Pass::kForward) {
        return k::weighted_activation_forward(q_, at<T>(1), at<T>(0), at<T>(2), f, a.gated, a.rows,
                                              a.width);
      }
      if (a.weighted) {
        return k::weighted_activation_backward(q_, at<T>(2), at<T>(4), at<T>(0), at<T>(1), at<T>(3),
                                               f, a.gated, a.rows, a.width);
      }
      if (a.pass == Pass::kForward) {
        return k::activation_forward(q_, at<T>(1), at<T>(0), f, a.gated, a.rows, a.width);
      }
      k::activation_backward(q_, at<T>(2), at<T>(0), at<T>(1), f, a.gated, a.rows, a.width);
    });
  }
  void operator()(const LatentHeads& x) {
    with_type(type(0), [&]<class T>(T) {
      if (x.pass == Pass::kForward) {
        return k::latent_heads_forward(q_, at<T>(3), at<T>(0), at<T>(1), at<T>(2), shape_of(x));
      }
      k::latent_heads_backward(q_, at<T>(1), at<T>(2), at<T>(3), at<T>(0), shape_of(x));
    });
  }
  void operator()(const CausalConv&) { refuse_states(); }
  void operator()(const Scan&) { refuse_states(); }
  void operator()(const GatedNorm&) { refuse_states(); }
  void operator()(const DeltaRule&) { refuse_states(); }
  void operator()(const Gate&) { refuse_states(); }
  void operator()(const Rope& r) {
    with_type(type(0), [&]<class T>(T) {
      r.pass == Pass::kForward ? k::rope_forward(q_, at<T>(0), shape_of(r))
                               : k::rope_backward(q_, at<T>(0), shape_of(r));
    });
  }
  void operator()(const Embedding& e) {
    if (e.learned_positions) return positions(e);
    if (e.pass == Pass::kForward) {
      return with_type(type(1), [&]<class T>(T) {
        k::embedding_forward(q_, at<T>(2), tokens(0), at<T>(1), e.rows, e.width, e.vocab,
                             e.vocab * share_of(1, 0));
      });
    }
    const std::size_t last = count() - 1;
    with_types(type(last), type(1), [&]<class G, class T>(G, T) {
      k::embedding_backward(q_, at<G>(last), tokens(0), at<T>(1), e.rows, e.width, e.vocab,
                            e.vocab * share_of(last, 0), updates(last));
    });
  }
  void operator()(const CrossEntropy& c) {
    for (std::size_t i = 0; i < count(); ++i) {
      if (type(i) != DType::kFp32 && type(i) != DType::kInt64) refuse(type(i));
    }
    using Step = CrossEntropy::Step;
    const double scale = c.weight * loss_scale();
    switch (c.step) {
      case Step::kRowMax:
        return k::cross_entropy_max(q_, at<float>(1), at<float>(0), c.rows, c.vocab);
      case Step::kSums:
        return k::cross_entropy_sums(q_, at<float>(3), at<float>(0), at<float>(1), tokens(2),
                                     c.rows, c.vocab, vocab_offset(c));
      case Step::kLoss: return k::cross_entropy_loss(q_, at<float>(1), at<float>(0), c.rows, scale);
      case Step::kGradient:
        return k::cross_entropy_gradient(q_, at<float>(0), at<float>(1), at<float>(2), tokens(3),
                                         c.rows, c.vocab, vocab_offset(c), scale);
    }
  }
  void operator()(const Route& r) {
    with_type(type(0), [&]<class T>(T) {
      if (r.pass == Pass::kForward) {
        return k::route_forward(q_, at<T>(1), at<std::int64_t>(2), at<T>(0), routing_of(r));
      }
      k::route_backward(q_, at<T>(3), at<T>(0), at<T>(1), tokens(2), routing_of(r));
    });
  }
  void operator()(const Dispatch& x) {
    const std::int64_t* slots = x.senders > 0 ? at<std::int64_t>(3) : tokens(1);
    if (x.senders > 0) k::own_slots(q_, at<std::int64_t>(3), tokens(1), gathered_slots_of(x));
    with_type(type(0), [&]<class T>(T) {
      if (x.pass == Pass::kForward) {
        return k::dispatch_forward(q_, at<T>(2), at<T>(0), slots, x.rows, x.chosen, x.slots,
                                   x.width);
      }
      k::dispatch_backward(q_, at<T>(2), at<T>(0), slots, x.rows, x.chosen, x.width);
    });
  }
  void operator()(const Combine& x) {
    if (!x.weighted) return (*this)(reversed(x));
    with_type(type(0), [&]<class T>(T) {
      if (x.pass == Pass::kForward) {
        return k::combine_forward(q_, at<T>(3), at<T>(0), at<T>(1), tokens(2), x.rows, x.chosen,
                                  x.width);
      }
      k::combine_backward(q_, at<T>(4), at<T>(5), at<T>(0), at<T>(1), at<T>(2), tokens(3), x.rows,
                          x.chosen, x.slots, x.width);
    });
  }
  void operator()(const Add& a) {
    PLAIT_CHECK(!a.alone, "no dropout of adapters gets onto GPUs");
    if (a.scaled) return add_scaled(q_, operands_, *this, a);
    if (a.pass == Pass::kForward && count() == 2) {
      return with_types(type(1), type(0), [&]<class To, class From>(To, From) {
        k::accumulate(q_, at<To>(1), at<From>(0), elements(1));
      });
    }
    with_type(type(0), [&]<class T>(T) {
      if (a.pass != Pass::kForward) {
        return k::add_dropout_backward(q_, at<T>(2), at<T>(0), mask(1), a.rows * a.width,
                                       context_.model.dropout);
      }
      T* bias = a.bias ? at<T>(3) : nullptr;
      if (!a.dropout) return k::add<T>(q_, at<T>(2), at<T>(0), at<T>(1), bias, a.rows, a.width);
      const std::size_t where = count() - 1;
      k::add_dropout<T>(q_, at<T>(2), mask(where), at<T>(0), at<T>(1), bias, dim(2, 0), dim(2, 1),
                        a.width, dropout_of_sum(where));
    });
  }
  void operator()(const BiasGrad& b) {
    with_types(type(1), type(0), [&]<class G, class T>(G, T) {
      k::bias_grad(q_, at<G>(1), at<T>(0), b.rows, b.width, updates(1));
    });
  }
  void operator()(const Cast&) { cast(q_, operands_, *this); }
  void operator()(const Fill&) {
    for (std::size_t i = 0; i < count(); ++i) {
      with_type(type(i), [&]<class T>(T) {
        CUDA_CHECK(cudaMemsetAsync(at<T>(i), 0, bytes<T>(elements(i)), q_.stream));
      });
    }
  }
  void operator()(const SquaredNorm&) {
    if (!updates(0)) CUDA_CHECK(cudaMemsetAsync(at<float>(0), 0, sizeof(float), q_.stream));
    for (const Part& p : counted_squares()) {
      with_type(type(p.operand),
                [&]<class T>(T) { k::squared_norm(q_, at<float>(0), at<T>(p), p.elements, true); });
    }
  }
  /// Of weights that are kept in 8 bits, for which there are no kernels here.
  void operator()(const Amax&) { refuse(DType::kFp8); }
  void operator()(const Copy&) {
    const std::int64_t size = size_of(type(0));
    const Copied c = copied();
    CUDA_CHECK(cudaMemcpyAsync(mask(1) + c.to * size, mask(0) + c.from * size,
                               bytes<std::uint8_t>(c.elements * size), cudaMemcpyDefault,
                               q_.stream));
  }
  void operator()(const Adam& a) {
    const AdamParts p = adam_parts();
    if (type(p.first.operand) != DType::kFp32) refuse(type(p.first.operand));
    const DType weight = type(p.copies ? p.weight.operand : p.master.operand);
    with_type(type(p.gradient.operand), [&]<class G>(G) {
      with_types(type(p.master.operand), weight, [&]<class M, class W>(M, W) {
        k::adam<W, M, G>(q_, p.copies ? at<W>(p.weight) : nullptr, at<M>(p.master),
                         at<float>(p.first), at<float>(p.second), at<G>(p.gradient),
                         p.clips ? at<float>(1) : nullptr, a.elements, p.settings);
      });
    });
  }

 private:
  /// y = x w^T. Sections of y that outlive it are copied to the operand that keeps them, or, where
  /// that is read, from it; then the other sections alone are computed.
  template <class Y, class X>
  void product(const MatMul& g, Y* y, const X* x, const X* w) {
    const X* bias = g.bias ? at<X>(3) : nullptr;
    if (g.ring_step >= 0) {
      const RowsOfRank rows = rows_of_rank(g);
      return k::gemm_nt(q_, y + rows.y, x + rows.x, w, bias, g.m, g.n, g.k, 1, false);
    }
    const std::size_t kept = g.bias ? 4 : 3;
    const bool again = kept < count() && reads(kept);
    if (!again) k::gemm_nt(q_, y, x, w, bias, g.m, g.n, g.k, g.batch, updates(2));
    if (kept >= count()) return;
    for (const Section& s : sections_of(kept)) {
      if (s.columns == 0) continue;
      if (s.kept) {
        copy_section<Y>(g.m, s, kept, again);
      } else if (again) {
        k::product(q_, {g.m, s.columns, g.k, 1}, 1, k::factor(x, false, g.k, 0),
                   k::factor(w + s.first * g.k, true, g.k, 0), 0,
                   k::result(y + s.first, dim(2, 2), 0),
                   {bias == nullptr ? nullptr : bias + s.first, k::kElementType<X>});
      }
    }
  }
  template <class Y>
  void copy_section(std::int64_t rows, const Section& s, std::size_t kept, bool to_y) {
    Y *in_y = at<Y>(2) + s.first, *in_kept = at<Y>(kept) + s.first_kept;
    const std::size_t y_row = bytes<Y>(dim(2, 2)), kept_row = bytes<Y>(dim(kept, 2));
    CUDA_CHECK(cudaMemcpy2DAsync(to_y ? in_y : in_kept, to_y ? y_row : kept_row,
                                 to_y ? in_kept : in_y, to_y ? kept_row : y_row,
                                 bytes<Y>(s.columns), static_cast<std::size_t>(rows),
                                 cudaMemcpyDeviceToDevice, q_.stream));
  }
  static void refuse_states() { PLAIT_CHECK(false, "no states and no gates get onto GPUs"); }
  void head_norm(const HeadNorm& n) {
    const kernels::NormedHeads queries = queries_of(n), keys = keys_of(n);
    const std::int64_t key = n.query_width(), value = n.normed_width();
    with_type(type(0), [&]<class T>(T) {
      T* out = at<T>(3);
      const T* in = at<T>(0);
      float* stats = at<float>(4);
      k::head_norm_forward(q_, out, stats, in, at<T>(1), queries, kNormEpsilon);
      k::head_norm_forward(q_, out + key, stats + n.heads, in + key, at<T>(2), keys, kNormEpsilon);
      k::copy_columns(q_, out + value, queries.row_width, in + value, queries.row_width, n.rows,
                      n.value_width);
    });
  }
  void head_norm_backward(const HeadNorm& n) {
    const std::int64_t key = n.query_width();
    const bool all = n.pass == Pass::kBackward, adds = all && updates(5);
    with_types(all ? type(5) : DType::kFp32, type(0), [&]<class G, class T>(G, T) {
      G *of_queries = all ? at<G>(5) : nullptr, *of_keys = all ? at<G>(6) : nullptr;
      T* d = at<T>(0);
      const T* x = at<T>(1);
      const float* stats = at<float>(2);
      k::head_norm_backward(q_, d, of_queries, d, x, stats, at<T>(3), queries_of(n), adds);
      k::head_norm_backward(q_, d + key, of_keys, d + key, x + key, stats + n.heads, at<T>(4),
                            keys_of(n), adds);
    });
  }
  template <class T>
  void attention(const Attention& a) {
    const kernels::Packed<const T> rows(at<T>(0), a.balanced ? at<T>(count() - 1) : nullptr);
    const kernels::AttentionShape shape = shape_on_device(a);
    const kernels::Dropout d = dropout_of(a);
    if constexpr (std::is_same_v<T, Bf16>) {
      if (in_library(a)) return library_->forward(q_, at<T>(1), at<float>(2), rows.qkv, shape);
    }
    if (a.fused) return k::attention_fused_forward(q_, at<T>(1), at<float>(2), rows, shape, d);
    k::attention_unfused_forward(q_, at<T>(1), at<T>(2), a.dropout ? mask(3) : nullptr,
                                 a.dropout ? at<T>(4) : nullptr, rows, shape, d);
  }
  template <class T>
  void attention_backward(const Attention& a) {
    const std::size_t last = count() - 1;
    const kernels::Packed<const T> rows(at<T>(1), a.balanced ? at<T>(last - 2) : nullptr);
    const kernels::Packed<T> gradients(at<T>(last), a.balanced ? at<T>(last - 1) : nullptr);
    const kernels::AttentionShape shape = shape_on_device(a);
    const kernels::Dropout d = dropout_of(a);
    if constexpr (std::is_same_v<T, Bf16>) {
      if (in_library(a)) {
        return library_->backward(q_, gradients.qkv, at<T>(0), rows.qkv, at<T>(2), at<float>(3),
                                  shape);
      }
    }
    if (a.fused) {
      return k::attention_fused_backward<T>(q_, gradients, at<T>(0), rows, at<T>(2), at<float>(3),
                                            shape, d);
    }
    k::attention_unfused_backward<T>(q_, gradients, at<T>(0), rows, at<T>(2), at<T>(3),
                                     a.dropout ? mask(4) : nullptr, a.dropout ? at<T>(5) : nullptr,
                                     shape, d.probability);
  }
  bool in_library(const Attention& a) const {
    return a.fused && library_ != nullptr && library_->takes(shape_on_device(a), dropout_of(a));
  }
  kernels::AttentionShape shape_on_device(const Attention& a) const {
    kernels::AttentionShape shape = shape_of(a);
    if (shape.documents > 0) shape.bounds = bounds_;
    return shape;
  }
  void positions(const Embedding& e) {
    const std::size_t activation = e.pass == Pass::kForward ? 2 : 0;
    const std::int64_t s = dim(activation, 0), b = dim(activation, 1);
    const kernels::Positions place = place_of(activation);
    if (e.pass == Pass::kForward) {
      return with_type(type(2), [&]<class T>(T) {
        k::positions_forward(q_, at<T>(2), at<T>(0), at<T>(1), s, b, e.width, place, e.run);
      });
    }
    const std::size_t last = count() - 1;
    with_types(type(last), type(0), [&]<class G, class T>(G, T) {
      k::positions_backward(q_, at<G>(last), at<T>(0), s, b, e.width, e.vocab, place, updates(last),
                            e.run);
    });
  }
  DType type(std::size_t i) const { return tensor(i).dtype; }
  template <class E>
  static std::size_t bytes(std::int64_t elements) {
    return static_cast<std::size_t>(elements) * sizeof(E);
  }
  template <class E>
  E* at(std::size_t i) const {
    return operands_.at<E>(i);
  }
  template <class E>
  E* at(const Part& p) const {
    return at<E>(p.operand) + p.first;
  }
  const std::int64_t* tokens(std::size_t i) const { return at<std::int64_t>(i); }
  std::uint8_t* mask(std::size_t i) const { return at<std::uint8_t>(i); }

  const k::Queue& q_;
  const Operands& operands_;
  LibraryAttention* library_;
  const std::int64_t* bounds_;
};

}  // namespace

void compute(const k::Queue& queue, const RunContext& context, const Operands& operands,
             const Op& op, const Call& call, const ForAttention& for_attention) {
  CudaCompute on_gpu(queue, context, operands, op, call, for_attention);
  if (const Copy* copy = std::get_if<Copy>(&op.body)) return on_gpu(*copy);
  std::visit(on_gpu, std::get<Compute>(op.body));
}

}  // namespace plait::cuda
