#pragma once
// Communication from device memory to device memory, where a library does it (NCCL).

#include <memory>
#include <string>
#include <vector>

#include "realrun/bench/gpu_comm.h"
#include "realrun/compute/cuda/staged.h"
#include "realrun/rank.h"

namespace plait::cuda {

class Direct {
 public:
  virtual ~Direct() = default;
  Direct() = default;
  Direct(const Direct&) = delete;
  Direct& operator=(const Direct&) = delete;
  /// Of messages, one at a time. `types` of the operands; `what` it is, for errors: "all_reduce on
  /// stream grad_sync of rank 3".
  virtual std::unique_ptr<Communication> exchange(const Lane& lane, const Exchange& exchange,
                                                  const Operands& operands,
                                                  const std::vector<DType>& types,
                                                  const std::string& what) = 0;
};

class GpuShare;  // realrun/compute/cuda/shared_gpu.h
class Traffic;   // realrun/compute/cuda/traffic.h

/// NCCL between the ranks of a plan, each with all of a GPU, the calling thread's. Every rank calls
/// it; they meet over `transport`. Throws EnvironmentError with NCCL's words, or where this
/// build has no NCCL.
std::unique_ptr<Direct> nccl_between(const Plan& plan, Transport& transport, const GpuShare& gpu);
/// NCCL to be timed among these groups, with room for so many bytes. As above.
std::unique_ptr<GpuComm> nccl_comm(Transport& transport, const std::vector<RankGroup>& groups,
                                   std::int64_t bytes);
/// A collective of NCCL's between all ranks beside what they compute, with room for so many bytes.
/// As above.
std::unique_ptr<Traffic> nccl_traffic(Transport& transport, std::int64_t bytes);
/// "2.28.9". As above.
std::string nccl_version();

}  // namespace plait::cuda
