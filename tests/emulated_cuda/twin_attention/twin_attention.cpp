// Attention of emulated kernels by its CPU twin, for whole plans: fibers for every thread of the
// kernels themselves take a hundred times as long. The kernels are compared with the twin in
// tests/kernels/cuda/.

#include <cuda_bf16.h>

#include <vector>

#include "kernels/cuda/attention.h"
#include "tests/emulated_cuda/emulated_runtime.h"

namespace plait::kernels::cuda {
namespace {

using Numbers = std::vector<float>;

std::int64_t rows_of(const AttentionShape& s) { return s.sequence * s.batch; }
std::int64_t packed(const AttentionShape& s) { return rows_of(s) * s.row_width(); }
std::int64_t keys(const AttentionShape& s) { return s.keys() * s.batch * s.kv_row_width(); }
std::int64_t contexts(const AttentionShape& s) { return rows_of(s) * s.heads * s.v_dim(); }
std::int64_t weights(const AttentionShape& s) { return rows_of(s) * s.heads * s.keys(); }

/// Empty where there is nothing.
template <class T>
Numbers widened(const T* from, std::int64_t n) {
  if (from == nullptr) return {};
  return {from, from + n};
}
template <class T>
void narrow(T* to, const Numbers& from) {
  if (to == nullptr) return;
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<T>(from[i]);
}
float* data(Numbers& x) { return x.empty() ? nullptr : x.data(); }

/// Packed rows in float.
struct Rows {
  Numbers qkv, kv;
  template <class T>
  Rows(const Packed<T>& from, const AttentionShape& s)
      : qkv(widened(from.qkv, packed(s))), kv(widened(from.kv, keys(s))) {}
  Packed<float> get() { return {data(qkv), data(kv)}; }
  Packed<const float> read() { return {data(qkv), data(kv)}; }
  template <class T>
  void to(const Packed<T>& out) const {
    narrow(out.qkv, qkv), narrow(out.kv, kv);
  }
};

}  // namespace

template <class T>
void attention_fused_forward(const Queue& q, T* context, float* log_sum_exp, PackedOf<const T> rows,
                             const AttentionShape& s, const Dropout& d) {
  emulated::queue_on(q.stream, [=] {
    Rows x(rows, s);
    Numbers c = widened(context, contexts(s));  // to merge with
    kernels::attention_fused_forward(c.data(), log_sum_exp, x.read(), s, d);
    narrow(context, c);
  });
}

template <class T>
void attention_fused_backward(const Queue& q, PackedOf<T> gradients, const T* dcontext,
                              PackedOf<const T> rows, const T* context, const float* log_sum_exp,
                              const AttentionShape& s, const Dropout& d) {
  emulated::queue_on(q.stream, [=] {
    Rows x(rows, s), dx(gradients, s);
    const Numbers dc = widened(dcontext, contexts(s)), c = widened(context, contexts(s));
    kernels::attention_fused_backward(dx.get(), dc.data(), x.read(), c.data(), log_sum_exp, s, d);
    dx.to(gradients);
  });
}

template <class T>
void attention_unfused_forward(const Queue& q, T* context, T* probabilities, std::uint8_t* mask,
                               T* dropped, PackedOf<const T> rows, const AttentionShape& s,
                               const Dropout& d) {
  emulated::queue_on(q.stream, [=] {
    Rows x(rows, s);
    Numbers c(static_cast<std::size_t>(contexts(s))), p(static_cast<std::size_t>(weights(s)));
    Numbers kept(dropped == nullptr ? 0 : p.size());
    kernels::attention_unfused_forward(c.data(), p.data(), mask, data(kept), x.read(), s, d);
    narrow(context, c), narrow(probabilities, p), narrow(dropped, kept);
  });
}

template <class T>
void attention_unfused_backward(const Queue& q, PackedOf<T> gradients, const T* dcontext,
                                PackedOf<const T> rows, const T* context, const T* probabilities,
                                const std::uint8_t* mask, const T* dropped, const AttentionShape& s,
                                double probability) {
  emulated::queue_on(q.stream, [=] {
    Rows x(rows, s), dx(rows, s);
    const Numbers dc = widened(dcontext, contexts(s)), c = widened(context, contexts(s));
    const Numbers p = widened(probabilities, weights(s));
    Numbers kept = widened(dropped, weights(s));
    kernels::attention_unfused_backward(dx.get(), dc.data(), x.read(), c.data(), p.data(), mask,
                                        data(kept), s, probability);
    dx.to(gradients);
  });
}

#define PLAIT_ATTENTION(T)                                                              \
  template void attention_fused_forward<T>(const Queue&, T*, float*, PackedOf<const T>, \
                                           const AttentionShape&, const Dropout&);      \
  template void attention_fused_backward<T>(const Queue&, PackedOf<T>, const T*,        \
                                            PackedOf<const T>, const T*, const float*,  \
                                            const AttentionShape&, const Dropout&);     \
  template void attention_unfused_forward<T>(const Queue&, T*, T*, std::uint8_t*, T*,   \
                                             PackedOf<const T>, const AttentionShape&,  \
                                             const Dropout&);                           \
  template void attention_unfused_backward<T>(                                          \
      const Queue&, PackedOf<T>, const T*, PackedOf<const T>, const T*, const T*,       \
      const std::uint8_t*, const T*, const AttentionShape&, double);
PLAIT_ATTENTION(float)
PLAIT_ATTENTION(__nv_bfloat16)

}  // namespace plait::kernels::cuda
