#include "realrun/compute/cuda/cuda_compute.h"

#include <cuda_bf16.h>

#include <string>

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
#include "kernels/cuda/norm.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/rope.h"
#include "kernels/cuda/squared_norm.h"
#include "realrun/compute/op_view.h"

namespace plait::cuda {
namespace {

namespace k = kernels::cuda;
using Bf16 = __nv_bfloat16;

[[noreturn]] void refuse_experts() {
  throw InputError({.code = "G090",
                    .problem = "there are no CUDA kernels for a mixture of experts",
                    .expected = "a model without experts",
                    .cure = "run it on processors: --backend cpu"});
}

[[noreturn]] void refuse_latents() {
  throw InputError({.code = "G091",
                    .problem = "there are no CUDA kernels for multi-head latent attention",
                    .expected = "a model with model.kv_lora_rank = 0",
                    .cure = "run it on processors: --backend cpu"});
}

[[noreturn]] void refuse_further_tokens() {
  throw InputError({.code = "G092",
                    .problem = "there are no CUDA kernels for modules that predict further tokens",
                    .expected = "a model with model.mtp_layers = 0",
                    .cure = "run it on processors: --backend cpu"});
}

[[noreturn]] void refuse(DType t) {
  throw InputError(
      {.code = "G012",
       .problem = "there are no CUDA kernels for tensors in " + std::string(name_of(t)),
       .expected = "bf16 and fp32",
       .cure = "choose other types in workload.precision"});
}

[[noreturn]] void refuse(const std::string& what) {
  throw InputError({.code = "G019",
                    .problem = "there is no CUDA kernel for " + what,
                    .expected = "a plan without it",
                    .cure = "verify on the processor (--backend cpu)"});
}

/// f(T{}) with the type of tensors in `t`.
template <class F>
void with_type(DType t, F&& f) {
  if (t == DType::kFp32) return f(float{});
  if (t == DType::kBf16) return f(Bf16{});
  refuse(t);
}
/// f(Wide{}, Narrow{}) for results that are in the type of what they are made of, or in float.
template <class F>
void with_types(DType result, DType from, F&& f) {
  if (result == DType::kFp32 && from == DType::kFp32) return f(float{}, float{});
  if (result == DType::kFp32 && from == DType::kBf16) return f(float{}, Bf16{});
  if (result == DType::kBf16 && from == DType::kBf16) return f(Bf16{}, Bf16{});
  refuse(result == DType::kBf16 ? from : result);
}

class CudaCompute : private OpView {
 public:
  CudaCompute(const k::Queue& q, const RunContext& c, const Operands& operands, const Op& op,
              const Call& call, LibraryAttention* library)
      : OpView(c, op, call), q_(q), operands_(operands), library_(library) {}

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
    with_types(type(5), type(0), [&]<class G, class T>(G, T) {
      if (layer_norm) {
        return k::layer_norm_backward(q_, at<T>(4), at<G>(5), at<G>(6), at<T>(0), at<T>(1),
                                      at<float>(2), at<T>(3), n.rows, n.width, updates(5));
      }
      k::rms_norm_backward(q_, at<T>(4), at<G>(5), at<T>(0), at<T>(1), at<float>(2), at<T>(3),
                           n.rows, n.width, updates(5));
    });
  }
  void operator()(const Activation& a) {
    const auto f = static_cast<kernels::Nonlinearity>(a.kind);
    with_type(type(0), [&]<class T>(T) {
      if (a.pass == Pass::kForward) {
        return k::activation_forward(q_, at<T>(1), at<T>(0), f, a.gated, a.rows, a.width);
      }
      k::activation_backward(q_, at<T>(2), at<T>(0), at<T>(1), f, a.gated, a.rows, a.width);
    });
  }
  void operator()(const LatentHeads&) { refuse_latents(); }
  void operator()(const Rope& r) {
    if (context_.model.latent_attention()) refuse_latents();
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
  void operator()(const Route&) { refuse_experts(); }
  void operator()(const Dispatch&) { refuse_experts(); }
  void operator()(const Combine&) { refuse_experts(); }
  void operator()(const Add& a) {
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
  void operator()(const Cast& c) {
    if (c.from == DType::kInt8 || c.to == DType::kInt8) refuse("quantised exchanges");
    if (takes_share(1)) {
      return with_type(type(0), [&]<class T>(T) {
        k::cast(q_, at<T>(1), at<T>(0) + share_of(1, 0) * elements(1), elements(1));
      });
    }
    for (std::size_t i = 1; i < count(); ++i) {
      with_type(type(0), [&]<class From>(From) {
        if (same_shape(i)) {
          return with_type(type(i),
                           [&]<class To>(To) { k::cast(q_, at<To>(i), at<From>(0), elements(i)); });
        }
        PLAIT_CHECK(type(i) == type(0), "a copy to another shape and type at once");
        reshape<From>(i);
      });
    }
  }
  void operator()(const Fill&) {
    for (std::size_t i = 0; i < count(); ++i) {
      with_type(type(i), [&]<class T>(T) {
        CUDA_CHECK(cudaMemsetAsync(at<T>(i), 0, bytes<T>(elements(i)), q_.stream));
      });
    }
  }
  void operator()(const SquaredNorm&) {
    CUDA_CHECK(cudaMemsetAsync(at<float>(0), 0, sizeof(float), q_.stream));
    for (const Part& p : counted_squares()) {
      with_type(type(p.operand),
                [&]<class T>(T) { k::squared_norm(q_, at<float>(0), at<T>(p), p.elements, true); });
    }
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
    if (g.ring_step >= 0) refuse("a product in pieces (strategy.tensor.overlap)");
    const X* bias = g.bias ? at<X>(3) : nullptr;
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
  template <class T>
  void attention(const Attention& a) {
    if (a.ring_step >= 0) refuse("attention of a block of keys (strategy.context.kind)");
    const kernels::Packed<const T> rows(at<T>(0), a.balanced ? at<T>(count() - 1) : nullptr);
    const kernels::AttentionShape shape = shape_of(a);
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
    const kernels::AttentionShape shape = shape_of(a);
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
    return a.fused && library_ != nullptr && library_->takes(shape_of(a), dropout_of(a));
  }
  void positions(const Embedding& e) {
    const std::size_t activation = e.pass == Pass::kForward ? 2 : 0;
    const std::int64_t s = dim(activation, 0), b = dim(activation, 1);
    const kernels::Positions place = place_of(activation);
    if (e.pass == Pass::kForward) {
      return with_type(type(2), [&]<class T>(T) {
        k::positions_forward(q_, at<T>(2), at<T>(0), at<T>(1), s, b, e.width, place);
      });
    }
    const std::size_t last = count() - 1;
    with_types(type(last), type(0), [&]<class G, class T>(G, T) {
      k::positions_backward(q_, at<G>(last), at<T>(0), s, b, e.width, e.vocab, place,
                            updates(last));
    });
  }
  bool same_shape(std::size_t i) const {
    return width(i) == width(0) && tensor(i).rank == tensor(0).rank;
  }
  /// As copy_elements of realrun/compute/copy.h.
  template <class T>
  void reshape(std::size_t i) {
    if (width(i) != width(0) && tensor(i).rank != tensor(0).rank) {
      refuse("the exchange of heads (strategy.context.kind)");
    }
    if (width(i) != width(0)) {
      const std::size_t narrow = width(i) < width(0) ? i : 0;
      if (tensor(narrow).dims[2].sections[0] > 0) refuse_further_tokens();  // not the last columns
      return k::copy_columns(q_, at<T>(i), width(i), at<T>(0), width(0), elements(i) / width(i));
    }
    const bool orders = tensor(0).rank == 4;
    const std::size_t by_rank = orders ? 0 : i;
    const std::int64_t cp = dim(by_rank, 0), tokens = dim(by_rank, 1);
    const std::int64_t row = dim(by_rank, 2) * width(i);
    for (std::int64_t r = 0; r < cp; ++r) {
      const kernels::Positions place = chunks_of(r, cp, cp * tokens);
      const std::int64_t held = r * tokens * row;
      if (orders) {
        k::scatter_rows(q_, at<T>(i), at<T>(0) + held, place, tokens, row);
      } else {
        k::gather_rows(q_, at<T>(i) + held, at<T>(0), place, tokens, row);
      }
    }
  }

  DType type(std::size_t i) const { return tensor(i).dtype; }
  std::int64_t width(std::size_t i) const {
    return dim(i, static_cast<std::size_t>(tensor(i).rank - 1));
  }
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
};

}  // namespace

void compute(const k::Queue& queue, const RunContext& context, const Operands& operands,
             const Op& op, const Call& call, LibraryAttention* library) {
  std::visit(CudaCompute(queue, context, operands, op, call, library), std::get<Compute>(op.body));
}

}  // namespace plait::cuda
