#pragma once
// Ranks as threads of one process: exchanges and messages meet in memory. The plainest transport,
// for verification on one machine.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include "realrun/transport.h"

namespace plait {

/// What all ranks of a world share.
class ThreadWorld {
 public:
  /// Waiting longer than this for a peer is an error.
  explicit ThreadWorld(double patience_s = 60) : patience_s_(patience_s) {}
  std::unique_ptr<Transport> transport(std::int64_t rank);
  /// Wakes everybody up with an error: a rank has failed.
  void abort();

 private:
  class Endpoint;
  struct Meeting {
    std::vector<std::vector<std::byte>> given;
    std::size_t arrived = 0, left = 0;
  };
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, const std::string& what, std::int64_t rank,
            Ready&& ready);

  double patience_s_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool aborted_ = false;
  std::map<std::string, Meeting> meetings_;
  std::map<std::string, std::vector<std::byte>> messages_;
};

}  // namespace plait
