#pragma once
// Memory for operands that are not in the caches: each operand is taken from behind the last one in
// a buffer larger than the caches, so what is taken was used a whole buffer ago. A step of training
// finds its operands like that too; hot buffers make kernels look faster than they are in a step.

#include <cstdint>
#include <vector>

#include "core/error.h"
#include "kernels/dropout.h"

namespace plait {

/// Read-only operands, operands that are written, and operands that are updated come from three
/// buffers, so that inputs keep their values. Values are in [-1, 1) by a hash, as activations are
/// about zero: the time of a kernel may depend on what it computes with.
class OperandPool {
 public:
  /// Of each buffer. An operand may be at most this large.
  explicit OperandPool(std::int64_t bytes);

  const float* input(std::int64_t elements) { return inputs_.take(elements); }
  /// Values in (0, 1]: sums of exponentials, second moments.
  float* positive(std::int64_t elements) { return positives_.take(elements); }
  float* output(std::int64_t elements) { return outputs_.take(elements); }
  float* state(std::int64_t elements) { return states_.take(elements); }
  /// Ones and zeros.
  std::uint8_t* mask(std::int64_t elements) { return masks_.take(elements); }
  /// In [0, vocab).
  const std::int64_t* tokens(std::int64_t elements, std::int64_t vocab);

 private:
  template <class T>
  class Ring {
   public:
    /// `seed` of its gaps: two rings that are taken from in turn must not go in step.
    Ring(std::int64_t size, std::uint64_t seed)
        : data_(static_cast<std::size_t>(size)), taken_(seed << 32) {}
    /// The next elements, from a cache line on, behind a gap of 0 to 63 lines: loads that are a
    /// multiple of 4 KiB behind a store wait for it, a third of the time of a GELU's backward pass,
    /// so operands must not always lie alike.
    T* take(std::int64_t elements) {
      constexpr std::size_t kPerLine = 64 / sizeof(T), kLinesPerPage = 64;
      const std::size_t size =
          (static_cast<std::size_t>(elements) + kPerLine - 1) / kPerLine * kPerLine;
      PLAIT_CHECK(size <= data_.size(), "an operand larger than the pool");
      next_ += kernels::mix64(++taken_) % kLinesPerPage * kPerLine;
      if (next_ + size > data_.size()) next_ = 0;
      T* const begin = data_.data() + next_;
      next_ += size;
      return begin;
    }
    std::vector<T>& data() { return data_; }

   private:
    std::vector<T> data_;
    std::size_t next_ = 0;
    std::uint64_t taken_;
  };
  Ring<float> inputs_, positives_, outputs_, states_;
  Ring<std::uint8_t> masks_;
  Ring<std::int64_t> tokens_;
  std::int64_t vocab_ = 0;  // of the tokens that are there
};

}  // namespace plait
