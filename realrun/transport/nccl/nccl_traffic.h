#pragma once
// A collective of NCCL's between all ranks that is there to be beside compute
// (realrun/compute/cuda/traffic.h).

#include <string>
#include <vector>

#include "realrun/compute/cuda/traffic.h"
#include "realrun/transport/nccl/nccl_comm.h"

namespace plait::nccl {

class NcclTraffic : public cuda::Traffic {
 public:
  /// Collective over all ranks, each with a GPU of its own, the calling thread's.
  NcclTraffic(Transport& transport, std::int64_t bytes);
  std::string transport() const override { return "nccl"; }
  std::vector<std::string> communications() const override;
  std::int64_t ranks() const override { return static_cast<std::int64_t>(all_.size()); }
  cudaStream_t stream() const override { return comm_.stream(); }
  void take(const std::string& communication, std::int64_t bytes) override;
  void queue() override { comm_.queue(kind_, all_, elements_, false); }
  void wait() override { comm_.wait(all_); }

 private:
  RankGroup all_;
  NcclComm comm_;
  CollectiveKind kind_ = CollectiveKind::kAllReduce;
  std::int64_t elements_ = 0;
};

}  // namespace plait::nccl
