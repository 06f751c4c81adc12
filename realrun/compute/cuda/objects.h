#pragma once
// CUDA's objects, each given back when its owner goes. They belong to the device that was the
// thread's when they were made.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

#include "kernels/cuda/check.h"

namespace plait::cuda {

/// A handle that `destroy` gives back.
template <class Handle, cudaError_t (*destroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    // Nothing can be done about a device that has failed.
    if (handle_ != Handle{}) static_cast<void>(destroy(handle_));
  }
  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle{}; }

 private:
  Handle handle_ = {};
};

using StreamHandle = Owned<cudaStream_t, cudaStreamDestroy>;
using EventHandle = Owned<cudaEvent_t, cudaEventDestroy>;
using GraphHandle = Owned<cudaGraph_t, cudaGraphDestroy>;
using RunnableGraph = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;
using DeviceBlock = Owned<void*, cudaFree>;
using PinnedBlock = Owned<void*, cudaFreeHost>;

/// A stream that does not wait for the legacy default stream.
inline StreamHandle make_stream() {
  cudaStream_t s = nullptr;
  CUDA_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  return StreamHandle(s);
}
/// An event that knows its time.
inline EventHandle make_event() {
  cudaEvent_t e = nullptr;
  CUDA_CHECK(cudaEventCreateWithFlags(&e, cudaEventDefault));
  return EventHandle(e);
}
/// An event that other streams wait for, without a time.
inline EventHandle make_mark() {
  cudaEvent_t e = nullptr;
  CUDA_CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  return EventHandle(e);
}
/// Not initialised; null for no bytes, which the driver refuses (cuMemAlloc). Throws
/// EnvironmentError when the device has not so much.
inline DeviceBlock device_block(std::size_t bytes) {
  if (bytes == 0) return {};
  void* p = nullptr;
  CUDA_CHECK(cudaMalloc(&p, bytes));
  return DeviceBlock(p);
}
/// Until what was copied and set outside of streams is there: copies within the device, those from
/// memory that is not pinned and sets may go on when their calls have returned (CUDA runtime API,
/// "API synchronization behavior"), and no stream made here waits for them.
inline void finish_copies() { CUDA_CHECK(cudaStreamSynchronize(nullptr)); }
/// Host memory that the device copies from and to beside what it does.
inline PinnedBlock pinned_block(std::size_t bytes) {
  void* p = nullptr;
  CUDA_CHECK(cudaMallocHost(&p, bytes));
  return PinnedBlock(p);
}

}  // namespace plait::cuda
