#pragma once
// A processor's memory for operands that are not in its caches (ring.h).

#include <concepts>
#include <cstdint>
#include <vector>

#include "realrun/bench/cold_ring.h"

namespace plait {

/// Values of operands, by a hash of their place: in [-1, 1), as activations are about zero, for the
/// time of a kernel may depend on what it computes with; in (0, 1], as sums of exponentials and
/// second moments are; ones, and a zero for about each tenth; and tokens in [0, vocab).
std::vector<float> balanced_values(std::int64_t elements, std::uint64_t seed);
std::vector<float> positive_values(std::int64_t elements, std::uint64_t seed);
std::vector<std::uint8_t> mask_values(std::int64_t elements, std::uint64_t seed);
std::vector<std::int64_t> token_values(std::int64_t elements, std::int64_t vocab);

/// Read-only operands, operands that are written, and operands that are updated come from buffers
/// of their own, so that inputs keep their values.
class OperandPool {
 public:
  /// Of each buffer. An operand may be at most this large.
  explicit OperandPool(std::int64_t bytes);

  template <std::same_as<float> T = float>
  const T* input(std::int64_t elements) {
    return inputs_.ring.take(elements);
  }
  template <std::same_as<float> T = float>
  T* positive(std::int64_t elements) {
    return positives_.ring.take(elements);
  }
  template <std::same_as<float> T = float>
  T* output(std::int64_t elements) {
    return outputs_.ring.take(elements);
  }
  template <std::same_as<float> T = float>
  T* state(std::int64_t elements) {
    return states_.ring.take(elements);
  }
  std::uint8_t* mask(std::int64_t elements) { return masks_.ring.take(elements); }
  const std::int64_t* tokens(std::int64_t elements, std::int64_t vocab);

 private:
  template <class T>
  struct Buffer {
    Buffer(std::vector<T> values, std::uint64_t seed)
        : data(std::move(values)), ring(data.data(), std::ssize(data), seed) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    std::vector<T> data;
    ColdRing<T> ring;
  };
  Buffer<float> inputs_, positives_, outputs_, states_;
  Buffer<std::uint8_t> masks_;
  Buffer<std::int64_t> tokens_;
  std::int64_t vocab_ = 0;  // of the tokens that are there
};

}  // namespace plait
