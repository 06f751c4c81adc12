#pragma once
// NCCL communicators of one rank for one plan: one for each stream and group of axes that its
// collectives use, and one for each pair of neighbours and direction that its messages use.
// Operations of one communicator run in the order in which they are queued, so streams must not
// share one, and neither may a rank's sends and receives. Bootstrapped over the ranks' transport.
// None of them blocks, and all are connected when they are made, in the same order on every rank:
// ranks that connect in the middle of a step would wait for one another's streams.

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "plan/plan.h"
#include "realrun/compute/cuda/objects.h"
#include "realrun/rank.h"
#include "realrun/transport.h"
#include "realrun/transport/nccl/api.h"

namespace plait::nccl {

/// Between two members of a group: sender and receiver.
using Link = std::pair<std::int64_t, std::int64_t>;

/// What NCCL's split gives one call for: disjoint groups of ranks.
struct Split {
  int stream = 0;                                 // of collectives; direction of messages
  std::vector<std::vector<std::int64_t>> groups;  // ranks in order; every rank in one at most
  std::set<Link> links = {};                      // which members of each send what to which
  bool messages = false;                          // of pairs, not collectives
};
/// The splits that a plan needs, the same list on every rank.
std::vector<Split> splits_of(const Plan& plan);

class Groups {
 public:
  /// Collective over all ranks, each with a GPU of its own, the calling thread's.
  /// Throws EnvironmentError with NCCL's words.
  Groups(const Api& api, const std::vector<Split>& splits, Transport& transport);
  /// Waits until all that was sent has gone, on every rank; ends what still runs where a rank
  /// fails.
  ~Groups();
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  const Api& api() const { return api_; }
  struct Group {
    ncclComm_t comm = nullptr;
    cuda::StreamHandle stream = {};  // of messages: a send that nobody receives keeps no other back
  };
  /// Of a collective on a stream, or of a message's two ends (the sender first) and direction.
  const Group& find(int stream, const std::vector<std::int64_t>& group) const;
  /// Until the stream has come to its end. Throws EnvironmentError where others do not.
  void wait(ncclComm_t comm, cudaStream_t stream, const std::string& what) const;

 private:
  void make(const Split& split, std::int64_t rank);
  void connect(ncclComm_t comm, const std::set<Link>& links, std::int64_t member);
  void finish();
  void abort();

  const Api& api_;
  cuda::StreamHandle stream_;  // of the first messages
  cuda::DeviceBlock bytes_;    // one that goes and one that comes
  ncclComm_t world_ = nullptr;
  std::map<std::pair<int, std::vector<std::int64_t>>, Group> groups_;
};

}  // namespace plait::nccl
