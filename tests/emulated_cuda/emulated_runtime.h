#pragma once
// CUDA's runtime on the processor, for tests. Streams are as lazy as CUDA allows: what is queued
// runs only when somebody waits for it (a synchronisation, an event that another stream waits for,
// a host function behind it), so whoever forgets to wait sees what was there before. What is queued
// on the null stream runs at once; what is copied to the device or set without a stream is there
// when the device or the null stream is waited for, and for the host. Ranks share the device, each
// with streams of its own: cudaDeviceSynchronize does not wait for work that waits for other ranks.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

namespace plait::emulated {

void queue_on(cudaStream_t stream, std::function<void()> work);

/// Work that waits for other streams: tried again until it says that it is done, and keeps what is
/// queued behind it waiting.
void queue_until(cudaStream_t stream, std::function<bool()> work);

/// A place in a stream: all before it.
struct Position {
  cudaStream_t stream = nullptr;
  std::uint64_t id = 0;  // of the stream: addresses come again
  std::uint64_t tasks = 0;
};
Position end_of(cudaStream_t stream);
/// Whether its stream has not been destroyed.
bool lives(const Position& at);
/// Runs a stream up to there. False where work before it waits for something that has not come.
bool drive(const Position& to);

/// Held by whoever looks at streams or queues on several of them.
std::unique_lock<std::recursive_mutex> hold_device();

/// Bytes of device memory that were allocated and not freed.
std::size_t device_bytes();

}  // namespace plait::emulated
