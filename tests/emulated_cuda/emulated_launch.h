#pragma once
// Runs kernels on the processor, for tests: block after block, the threads of a block as fibers
// that take turns wherever they meet (barriers, warp shuffles). Shared memory is static memory of
// the calling thread, so several threads may launch at the same time. A block whose threads wait
// for one another for ever ends the program.

#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "tests/emulated_cuda/emulated_runtime.h"

namespace plait::emulated {

struct Place {
  dim3 grid, block;
  uint3 at_block{}, at_thread{};
};
/// Of the thread that runs.
extern constinit thread_local Place this_thread;
inline const Place& here() { return this_thread; }

/// Runs body once per thread of the grid.
void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& body);
/// All threads of the block that have not returned.
void meet_block();
/// All 32 lanes of the warp: when the last one has come, combine(mine of all lanes), then all go
/// on.
using Combine = void (*)(void* const* lanes);
void meet_warp(void* mine, Combine combine);
void* shared_memory();

int lane();

/// Copies of 16 bytes to shared memory that a thread has asked for; zeros where `from` is null.
/// They are made when they are waited for, so that who reads too early reads old numbers; or, in
/// every other launch or so, at once, so that who reads too late reads new ones.
struct LaterCopies {
  struct Copy {
    void* to;
    const void* from;
    void make() const { from == nullptr ? std::memset(to, 0, 16) : std::memcpy(to, from, 16); }
  };
  std::vector<Copy> open;
  std::vector<std::vector<Copy>> groups;
};
/// Of the thread that runs.
LaterCopies& later_copies();
bool copies_at_once();  // in this launch

/// Every lane gives a value and gets that of the lane it names.
template <class T>
T shuffle(T value, int source) {
  struct Lane {
    T value;
    int source;
    T result;
  } mine{value, source, value};
  meet_warp(&mine, [](void* const* lanes) {
    for (int i = 0; i < 32; ++i) {
      Lane& to = *static_cast<Lane*>(lanes[i]);
      to.result = static_cast<const Lane*>(lanes[to.source & 31])->value;
    }
  });
  return mine.result;
}

}  // namespace plait::emulated

#define threadIdx (::plait::emulated::here().at_thread)
#define blockIdx (::plait::emulated::here().at_block)
#define blockDim (::plait::emulated::here().block)
#define gridDim (::plait::emulated::here().grid)
#undef __shared__
#define __shared__ static thread_local
#undef __launch_bounds__
#define __launch_bounds__(...)

inline void __syncthreads() { plait::emulated::meet_block(); }
inline void __syncwarp(unsigned = ~0U) {
  plait::emulated::meet_warp(nullptr, [](void* const*) {});
}
template <class T>
T __shfl_sync(unsigned, T value, int source) {
  return plait::emulated::shuffle(value, source);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int flip) {
  return plait::emulated::shuffle(value, plait::emulated::lane() ^ flip);
}
inline unsigned __ballot_sync(unsigned, bool predicate) {
  struct Lane {
    bool predicate;
    unsigned result;
  } mine{predicate, 0};
  plait::emulated::meet_warp(&mine, [](void* const* lanes) {
    unsigned bits = 0;
    for (unsigned i = 0; i < 32; ++i) {
      bits |= static_cast<unsigned>(static_cast<const Lane*>(lanes[i])->predicate) << i;
    }
    for (unsigned i = 0; i < 32; ++i) static_cast<Lane*>(lanes[i])->result = bits;
  });
  return mine.result;
}
inline int __ffs(int bits) { return std::countr_zero(static_cast<unsigned>(bits)) + 1; }
inline int __popc(unsigned bits) { return std::popcount(bits); }
// Approximate on a device.
inline float __expf(float x) { return std::exp(x); }
inline float __fdividef(float a, float b) { return a / b; }
// Fibers of one thread: plain memory is atomic.
inline int atomicMin(int* at, int value) {
  const int old = *at;
  *at = value < old ? value : old;
  return old;
}
inline int atomicMax(int* at, int value) {
  const int old = *at;
  *at = value > old ? value : old;
  return old;
}

namespace plait::kernels::cuda {

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
            cudaStream_t stream, Arguments&&... arguments) {
  emulated::queue_on(stream, [=] {
    emulated::run_grid(grid, block, shared_bytes, [&] { kernel(arguments...); });
  });
}
template <class T>
T* dynamic_shared() {
  return static_cast<T*>(emulated::shared_memory());
}

}  // namespace plait::kernels::cuda
