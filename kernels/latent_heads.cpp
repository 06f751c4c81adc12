#include "kernels/latent_heads.h"

#include <algorithm>

#include "kernels/fill.h"

namespace plait::kernels {
namespace {

/// Where a head's parts lie, in elements from the beginning of their rows.
struct Places {
  std::int64_t query_width, kv_width, packed_width;
  std::int64_t key, value;  // of head 0 in the packed row
  explicit Places(const LatentShape& s)
      : query_width(s.heads * (s.own + s.rope)),
        kv_width(s.heads * (s.own + s.values)),
        packed_width(2 * query_width + s.heads * s.values),
        key(query_width),
        value(2 * query_width) {}
};

}  // namespace

template <class T>
void latent_heads_forward(T* packed, const T* q, const T* kv, const T* rotary,
                          const LatentShape& s) {
  const Places at(s);
  for (std::int64_t r = 0; r < s.rows; ++r) {
    T* row = packed + r * at.packed_width;
    const T *own = kv + r * at.kv_width, *shared = rotary + r * s.rope;
    T *key = row + at.key, *value = row + at.value;
    std::copy_n(q + r * at.query_width, at.query_width, row);
    for (std::int64_t h = 0; h < s.heads; ++h) {
      key = std::copy_n(shared, s.rope, std::copy_n(own, s.own, key));
      value = std::copy_n(own + s.own, s.values, value);
      own += s.own + s.values;
    }
  }
}

template <class T>
void latent_heads_backward(T* dq, T* dkv, T* drotary, const T* dpacked, const LatentShape& s) {
  const Places at(s);
  fill(drotary, T(0), s.rows * s.rope);
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const T* row = dpacked + r * at.packed_width;
    const T *key = row + at.key, *value = row + at.value;
    T *own = dkv + r * at.kv_width, *shared = drotary + r * s.rope;
    std::copy_n(row, at.query_width, dq + r * at.query_width);
    for (std::int64_t h = 0; h < s.heads; ++h) {
      own = std::copy_n(value, s.values, std::copy_n(key, s.own, own));
      for (std::int64_t i = 0; i < s.rope; ++i) shared[i] += key[s.own + i];
      key += s.own + s.rope, value += s.values;
    }
  }
}

#define PLAIT_INSTANTIATE(T)                                                                \
  template void latent_heads_forward(T*, const T*, const T*, const T*, const LatentShape&); \
  template void latent_heads_backward(T*, T*, T*, const T*, const LatentShape&);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
