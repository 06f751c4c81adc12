#pragma once
// NCCL's collectives and messages, timed by events of the device (realrun/bench/gpu_comm.h).

#include "realrun/bench/gpu_comm.h"
#include "realrun/compute/cuda/objects.h"
#include "realrun/transport/nccl/groups.h"

namespace plait::nccl {

class NcclComm : public GpuComm {
 public:
  /// Communicators of all `groups` and room for collectives of `bytes`. Collective over all ranks,
  /// each with a GPU of its own, the calling thread's.
  NcclComm(Transport& transport, const std::vector<RankGroup>& groups, std::int64_t bytes);
  double collective(CollectiveKind kind, const RankGroup& group, std::int64_t elements,
                    bool in_place, std::int64_t repeats) override;
  double message(const RankGroup& pair, std::int64_t bytes, std::int64_t repeats) override;

  /// One collective more on the stream.
  void queue(CollectiveKind kind, const RankGroup& group, std::int64_t elements, bool in_place);
  cudaStream_t stream() const { return stream_.get(); }
  /// Until the stream has come to its end.
  void wait(const RankGroup& group) const;

 private:
  void run(CollectiveKind kind, ncclComm_t comm, std::size_t members, std::size_t index,
           std::size_t elements, bool in_place);
  template <class F>
  double timed(ncclComm_t comm, std::int64_t repeats, F&& queue);

  std::int64_t rank_;
  cuda::StreamHandle stream_;
  cuda::EventHandle begin_, end_;
  cuda::DeviceBlock in_, out_;
  Groups groups_;
};

}  // namespace plait::nccl
