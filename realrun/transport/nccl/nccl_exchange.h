#pragma once
// A plan's collective or message by NCCL, from device memory to device memory, on the stream of its
// op, or of the pair of ranks between which the message goes. The communication thread queues it
// when it comes to its turn and looks for errors until the stream has come there.

#include <vector>

#include "kernels/cuda/queue.h"
#include "realrun/compute/cuda/staged.h"
#include "realrun/transport/nccl/groups.h"

namespace plait::nccl {

/// Where a parameter server adds up what comes in.
struct Addends {
  int multiprocessors = 1;
  void* room = nullptr;  // what all workers push, one share behind the other
};

class NcclExchange : public Communication {
 public:
  /// `types` of the operands. `what` it is, for errors: "all_reduce on stream grad_sync of rank 3".
  NcclExchange(const Groups& groups, const Addends& addends, std::int64_t rank,
               const cuda::Lane& lane, const Exchange& exchange, const Operands& operands,
               std::vector<DType> types, std::string what);
  bool advance(Transport& transport) override;
  std::string waits_for() const override { return "NCCL"; }
  bool lets_pass() const override {
    const auto* message = std::get_if<PointToPoint>(&exchange_);
    return message != nullptr && message->flow == Flow::kOut;
  }

 private:
  void* at(const Part& part) const;
  std::size_t bytes_of(const Part& part) const;
  ncclDataType_t type(const Part& part) const;
  void choose_group();
  void queue(const PointToPoint& message);
  void queue(const CollectiveOf<Part>& collective);
  void gather(const CollectiveOf<Part>& c);
  void scatter(const CollectiveOf<Part>& c, ncclRedOp_t op);
  /// Within a group call: to and from members of `comm_`.
  void send(const Part& out, std::int64_t to);
  void receive(void* in, const Part& like, std::int64_t from);
  void exchange(const Part& out, std::int64_t to, const Part& in, std::int64_t from);
  void push(const CollectiveOf<Part>& c);
  void pull(const CollectiveOf<Part>& c);
  void copy(void* to, const void* from, const Part& like);
  /// Behind the group call of a push.
  void add_up(const CollectiveOf<Part>& c);
  bool makes_one_buffer(const CollectiveOf<Part>& c) const;

  const Groups& groups_;
  Addends addends_;
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
