#pragma once
// A GPU's memory for operands that are not in its caches (realrun/bench/cold_ring.h).

#include <cuda_bf16.h>

#include <cstdint>

#include "realrun/bench/cold_ring.h"
#include "realrun/compute/cuda/objects.h"

namespace plait::cuda {

/// As OperandPool, with buffers for float and for bf16.
class DevicePool {
 public:
  /// `bytes` of each buffer, of which there are nine.
  explicit DevicePool(std::int64_t bytes);

  template <class T>
  const T* input(std::int64_t elements) {
    return of(T{}).inputs.ring.take(elements);
  }
  template <class T>
  T* positive(std::int64_t elements) {
    return of(T{}).positives.ring.take(elements);
  }
  template <class T>
  T* output(std::int64_t elements) {
    return of(T{}).outputs.ring.take(elements);
  }
  template <class T>
  T* state(std::int64_t elements) {
    return of(T{}).states.ring.take(elements);
  }
  std::uint8_t* mask(std::int64_t elements) { return masks_.ring.take(elements); }
  /// Another vocabulary than the last call's waits for the device.
  const std::int64_t* tokens(std::int64_t elements, std::int64_t vocab);

 private:
  static constexpr std::int64_t kAlignment = 256;  // that of cudaMalloc, and of arenas
  template <class T>
  struct Buffer {
    Buffer(std::int64_t bytes, std::uint64_t seed)
        : block(device_block(static_cast<std::size_t>(bytes))),
          ring(static_cast<T*>(block.get()), bytes / std::int64_t{sizeof(T)}, seed) {}
    DeviceBlock block;
    ColdRing<T, kAlignment> ring;
  };
  template <class T>
  struct Buffers {
    explicit Buffers(std::int64_t bytes);
    Buffer<T> inputs, positives, outputs, states;
  };
  Buffers<float>& of(float) { return floats_; }
  Buffers<__nv_bfloat16>& of(__nv_bfloat16) { return halves_; }

  Buffers<float> floats_;
  Buffers<__nv_bfloat16> halves_;
  Buffer<std::uint8_t> masks_;
  Buffer<std::int64_t> tokens_;
  std::int64_t vocab_ = 0;  // of the tokens that are there
};

}  // namespace plait::cuda
