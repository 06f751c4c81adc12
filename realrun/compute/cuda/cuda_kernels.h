#pragma once
// Kernels of ops as `plait bench` calls them: operands from a pool larger than the caches, one
// stream of a GPU or of a part of it.

#include <functional>

#include "kernels/cuda/gemm.h"
#include "kernels/cuda/queue.h"
#include "model/op.h"
#include "realrun/compute/cuda/device_pool.h"
#include "realrun/compute/cuda/library_attention.h"
#include "realrun/compute/cuda/shared_gpu.h"

namespace plait::cuda {

class CudaKernels {
 public:
  /// On a share of the thread's device. `pool_bytes` for each of the pool's buffers; an operand may
  /// be at most this large. Attention by `library`, which may be null, where a real run has it so.
  CudaKernels(std::shared_ptr<GpuShare> share, std::int64_t pool_bytes,
              std::unique_ptr<LibraryAttention> library);

  /// Queues one call.
  void call(const Compute& op);
  /// What `calls` of `call`, one behind the other, queue on the stream. The first call of a kernel
  /// is not to be captured: libraries choose algorithms in it.
  RunnableGraph graph_of(const std::function<void()>& call, std::int64_t calls);

  const kernels::cuda::Queue& queue() const { return queue_; }
  DevicePool& pool() { return pool_; }

 private:
  std::shared_ptr<GpuShare> share_;
  StreamHandle stream_;
  DeviceBlock scratch_;
  kernels::cuda::Products products_;
  kernels::cuda::Queue queue_;
  DevicePool pool_;
  std::unique_ptr<LibraryAttention> library_;
};

}  // namespace plait::cuda
