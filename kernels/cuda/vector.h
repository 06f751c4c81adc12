#pragma once
// Memory goes through registers 16 bytes at a time, where pointers allow. Used inside kernels only.

#include <cstdint>
#include <initializer_list>

#include "kernels/cuda/element.h"
#include "kernels/cuda/launch.h"

namespace plait::kernels::cuda {

/// Bytes of the widest load and store of a thread.
inline constexpr int kVectorBytes = 16;
/// Elements of T in such a vector.
template <class T>
inline constexpr int kVector = kVectorBytes / static_cast<int>(sizeof(T));

template <int V>
struct Floats {
  float at[V];
};

/// data[0 .. V], which lie at a multiple of their size or of 16 bytes.
template <int V, class T>
__device__ Floats<V> load(const T* data) {
  struct alignas(V * sizeof(T) < kVectorBytes ? V * sizeof(T) : kVectorBytes) Raw {
    T at[V];
  };
  const Raw raw = *reinterpret_cast<const Raw*>(data);
  Floats<V> out;
#pragma unroll
  for (int i = 0; i < V; ++i) out.at[i] = to_float(raw.at[i]);
  return out;
}
template <int V, class T>
__device__ void store(T* data, const Floats<V>& x) {
  struct alignas(V * sizeof(T) < kVectorBytes ? V * sizeof(T) : kVectorBytes) Raw {
    T at[V];
  } raw;
#pragma unroll
  for (int i = 0; i < V; ++i) raw.at[i] = from_float<T>(x.at[i]);
  *reinterpret_cast<Raw*>(data) = raw;
}

/// V bytes of a mask, 0 or 1.
template <int V>
struct alignas(V) Kept {
  std::uint8_t at[V];
};
template <int V>
__device__ Kept<V> load_kept(const std::uint8_t* mask) {
  return *reinterpret_cast<const Kept<V>*>(mask);
}
template <int V>
__device__ void store_kept(std::uint8_t* mask, const Kept<V>& kept) {
  *reinterpret_cast<Kept<V>*>(mask) = kept;
}

/// Whether every pointer allows vectors; null ones do.
inline bool aligned(std::initializer_list<const void*> pointers) {
  for (const void* p : pointers) {
    if (reinterpret_cast<std::uintptr_t>(p) % kVectorBytes != 0) return false;
  }
  return true;
}

}  // namespace plait::kernels::cuda
