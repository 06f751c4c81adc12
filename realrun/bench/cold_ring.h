#pragma once
// Operands that are not in the caches: each is taken from behind the last one in a buffer larger
// than the caches, so what is taken was used a whole buffer ago. A step of training finds its
// operands like that too; hot buffers make kernels look faster than they are in a step.

#include <cstdint>

#include "core/error.h"
#include "core/random.h"

namespace plait {

/// Over memory that somebody else has and that begins at a multiple of `kLine`: bytes that an
/// operand begins at a multiple of.
template <class T, std::int64_t kLine = 64>
class ColdRing {
 public:
  ColdRing() = default;
  /// `seed` of its gaps: two rings that are taken from in turn must not go in step.
  ColdRing(T* data, std::int64_t size, std::uint64_t seed)
      : data_(data), size_(size), taken_(seed << 32) {}
  /// The next elements, behind a gap of less than a page: loads of processors that are a multiple
  /// of 4 KiB behind a store wait for it, a third of the time of a GELU's backward pass, so
  /// operands must not always lie alike.
  T* take(std::int64_t elements) {
    constexpr std::int64_t kPerLine = kLine / std::int64_t{sizeof(T)};
    constexpr std::uint64_t kLinesPerPage = 4096 / kLine;
    const std::int64_t size = (elements + kPerLine - 1) / kPerLine * kPerLine;
    PLAIT_CHECK(size <= size_, "an operand larger than the pool");
    next_ += static_cast<std::int64_t>(mix64(++taken_) % kLinesPerPage) * kPerLine;
    if (next_ + size > size_) next_ = 0;
    T* const begin = data_ + next_;
    next_ += size;
    return begin;
  }

 private:
  T* data_ = nullptr;
  std::int64_t size_ = 0, next_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace plait
