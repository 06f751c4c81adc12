#pragma once
// CUDA's runtime on the processor, for tests. Streams are as lazy as CUDA allows: what is queued
// runs only when somebody waits for it (a synchronisation, an event that another stream waits for,
// a host function behind it), so whoever forgets to wait sees what was there before. What is queued
// on the null stream runs at once.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace plait::emulated {

void queue_on(cudaStream_t stream, std::function<void()> work);

/// Bytes of device memory that were allocated and not freed.
std::size_t device_bytes();

}  // namespace plait::emulated
