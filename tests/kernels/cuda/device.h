#pragma once
// Memory and a queue of the device under test: the emulated one, or where PLAIT_EMULATED_CUDA is
// not defined the real one.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "kernels/cuda/check.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/queue.h"
#include "tests/kernels/reference.h"

namespace plait::kernels::cuda {

inline constexpr std::size_t kAlignment = 256;  // what cudaMalloc gives

#ifdef PLAIT_EMULATED_CUDA
inline void* allocate(std::size_t bytes) {
  return std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
}
inline void release(void* p) { std::free(p); }
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
inline int multiprocessors() { return 2; }  // few, so that threads go round their loops
#else
inline void* allocate(std::size_t bytes) {
  void* p = nullptr;
  CUDA_CHECK(cudaMalloc(&p, bytes + kAlignment));
  return p;
}
inline void release(void* p) { cudaFree(p); }
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  CUDA_CHECK(cudaDeviceSynchronize());
  CUDA_CHECK(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}
inline int multiprocessors() {
  int count = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return count;
}
#endif

/// A copy of host numbers on the device, `shift` elements behind an aligned address, between guards
/// that must stay as they are.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values, std::int64_t shift = 0)
      : size_(values.size()), first_(kGuard + static_cast<std::size_t>(shift)) {
    std::vector<T> all(size_ + first_ + kGuard);
    std::memset(static_cast<void*>(all.data()), 0x5A, all.size() * sizeof(T));
    std::copy(values.begin(), values.end(), all.begin() + static_cast<std::ptrdiff_t>(first_));
    memory_.reset(static_cast<T*>(allocate(all.size() * sizeof(T))));
    copy_bytes(memory_.get(), all.data(), all.size() * sizeof(T));
  }
  T* data() { return memory_.get() + first_; }
  std::vector<T> values() const {
    std::vector<T> all(size_ + first_ + kGuard);
    copy_bytes(all.data(), memory_.get(), all.size() * sizeof(T));
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i >= first_ && i < first_ + size_) continue;
      const auto* bytes = reinterpret_cast<const unsigned char*>(&all[i]);
      for (std::size_t b = 0; b < sizeof(T); ++b) EXPECT_EQ(bytes[b], 0x5A) << "outside, at " << i;
    }
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first_);
    return {begin, begin + static_cast<std::ptrdiff_t>(size_)};
  }

 private:
  static constexpr std::size_t kGuard = 64;
  struct Release {
    void operator()(T* p) const { release(p); }
  };
  std::size_t size_, first_;
  std::unique_ptr<T, Release> memory_;
};

inline const Queue& queue() {
  static Products products;
  static const Queue q{nullptr, multiprocessors(), allocate(kScratchBytes), &products};
  return q;
}

// ---- numbers of an element type
/// Half a unit in the last place of 1: the relative error of one rounding to nearest.
template <class T>
inline constexpr double kRoundingError = 0x1p-24;
template <>
inline constexpr double kRoundingError<__nv_bfloat16> = 0x1p-8;

/// Random numbers in [-1, 1) that T holds exactly, and the same for the twin.
template <class T>
struct Numbers {
  std::vector<T> narrow;
  std::vector<float> wide;
};
template <class T>
Numbers<T> narrowed(const std::vector<float>& x) {
  Numbers<T> out;
  for (float v : x) {
    out.narrow.push_back(from_float<T>(v));
    out.wide.push_back(to_float(out.narrow.back()));
  }
  return out;
}
template <class T>
Numbers<T> numbers(Random& random, std::int64_t n) {
  return narrowed<T>(random.values<float>(n));
}
/// An output before the kernel: NaN everywhere.
template <class T>
std::vector<T> unwritten(std::int64_t n) {
  return narrowed<T>(poisoned<float>(n)).narrow;
}

/// Results of type T beside the twin's in float: one rounding to T and a difference of `terms`
/// float operations on numbers up to `size` (tests/kernels/reference.h).
template <class T>
void expect_close(const std::vector<T>& got, const std::vector<float>& want, std::int64_t terms,
                  double size = 1) {
  ASSERT_EQ(got.size(), want.size());
  const double floats = rounding<float>(terms, size);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto w = static_cast<double>(want[i]);
    const double tolerance = 1.01 * kRoundingError<T> * (std::abs(w) + floats) + floats;
    ASSERT_NEAR(static_cast<double>(to_float(got[i])), w, tolerance) << "at " << i;
  }
}
template <class T>
void expect_close(const OnDevice<T>& got, const std::vector<float>& want, std::int64_t terms,
                  double size = 1) {
  expect_close(got.values(), want, terms, size);
}

using Elements = ::testing::Types<float, __nv_bfloat16>;

}  // namespace plait::kernels::cuda
