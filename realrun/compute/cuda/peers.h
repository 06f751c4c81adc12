#pragma once
// Communication between ranks that share a GPU: each rank's own kernels, on its own
// multiprocessors, take what it is to have out of the others' buffers, and events order them. No
// kernel waits for another one, so ranks cannot block one another however many multiprocessors they
// have.

#include <memory>

#include "realrun/compute/cuda/direct.h"
#include "realrun/compute/cuda/shared_gpu.h"

namespace plait::cuda {

/// Of one rank. A collective has stages: all members are ready; each adds up, or takes, its share
/// (of an all_reduce: then the other shares); all have read.
std::unique_ptr<Direct> peers_on_gpu(std::shared_ptr<SharedGpu> gpu, Transport& transport);

}  // namespace plait::cuda
