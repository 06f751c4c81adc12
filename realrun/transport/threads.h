#pragma once
// Ranks as threads of one process: bytes are handed over in memory. The plainest transport, for
// verification and measurement on one machine.

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "realrun/transport.h"

namespace plait {

/// What all ranks of a world share.
class ThreadWorld {
 public:
  explicit ThreadWorld(std::int64_t ranks);
  std::unique_ptr<Transport> transport(std::int64_t rank);
  /// Lets everybody's `progress` fail: a rank has failed.
  void abort();

 private:
  class Endpoint;
  struct Letter {
    std::uint64_t tag = 0;
    std::vector<std::byte> bytes;
  };
  /// What has been sent to one rank and not been received.
  struct Inbox {
    std::mutex mutex;
    std::condition_variable changed;
    bool woken = false, aborted = false;
    std::map<std::pair<std::int64_t, int>, std::deque<Letter>> letters;  // by sender and channel
  };
  std::vector<std::unique_ptr<Inbox>> inboxes_;
};

}  // namespace plait
