#pragma once
// A plan's collective or message by NCCL, from device memory to device memory, on the stream of its
// op. The communication thread queues it when it comes to its turn and looks for errors until the
// stream has come there.

#include <vector>

#include "realrun/compute/cuda/staged.h"
#include "realrun/transport/nccl/groups.h"

namespace plait::nccl {

class NcclExchange : public Communication {
 public:
  /// `types` of the operands. `what` it is, for errors: "all_reduce on stream grad_sync of rank 3".
  NcclExchange(const Groups& groups, std::int64_t rank, const cuda::Lane& lane,
               const Exchange& exchange, const Operands& operands, std::vector<DType> types,
               std::string what);
  bool advance(Transport& transport) override;
  std::string waits_for() const override { return "NCCL"; }

 private:
  void* at(const Part& part) const;
  ncclDataType_t type(const Part& part) const;
  void queue(const MessageEnd& message);
  void queue(const CollectiveOf<Part>& collective);
  void scatter(const CollectiveOf<Part>& c, ncclRedOp_t op);
  /// Within a group call: sends to one member of `comm_` and receives from one.
  void exchange(const Part& out, std::int64_t to, const Part& in, std::int64_t from);
  bool makes_one_buffer(const CollectiveOf<Part>& c) const;

  const Groups& groups_;
  std::int64_t rank_;
  cuda::Lane lane_;
  Exchange exchange_;
  Operands operands_;
  std::vector<DType> types_;
  std::string what_;
  ncclComm_t comm_ = nullptr;
  bool queued_ = false;
  cuda::Arrival arrival_;
};

}  // namespace plait::nccl
