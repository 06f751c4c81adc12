#pragma once
// A rank's communication thread. Ops are handed to it in issue order and run on the streams of the
// plan: one stream's ops one after the other, different streams at the same time, and all beside
// the compute that the rank's other thread goes on with. This is where overlap is real. Sends are
// eager, as in the simulator: one that nobody receives yet does not keep the sends behind it, to
// other ranks, waiting.

#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "plan/op.h"
#include "realrun/communication.h"
#include "realrun/op_time.h"

namespace plait {

class Communicator {
 public:
  struct Work {
    std::int64_t op = 0;  // flat index
    Stream stream = Stream::kTp;
    std::vector<std::uint32_t> after;   // ops handed over before that must have ended
    std::string what;                   // for errors: "all_reduce in grad_sync over dp, layer 3"
    std::shared_ptr<const void> keeps;  // memory that must stay
    std::unique_ptr<Communication> communication;
    bool running = false, ended = false;  // as the thread has it
  };

  /// `ops`: how many flat ops a step has. Without progress for `patience_s` it gives up.
  Communicator(Transport& transport, std::size_t ops, double patience_s);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  void hand_over(Work work);
  /// Until op `op`, handed over before, has ended. All waits rethrow what the thread failed with:
  /// EnvironmentError naming rank, op and peer.
  void wait(std::int64_t op);
  /// Until everything has ended; then ops may be handed over anew.
  void finish_step();
  /// Of op `op`, when it has ended.
  const OpTime& time(std::int64_t op) const { return times_[static_cast<std::size_t>(op)]; }

 private:
  void run();
  void serve();
  bool progress();
  std::string waiting() const;
  void take_over();
  bool advance_all();
  bool advance(Work& work);
  bool ready(const Work& work) const;
  void finished(std::int64_t op);
  void give_up_if_stuck();
  bool idle() const;

  Transport& transport_;
  double patience_s_;
  std::vector<OpTime> times_;
  std::array<std::deque<Work>, kStreams> queues_;  // of the thread alone
  std::int64_t last_progress_ns_ = 0;
  OpClock clock_;

  std::mutex mutex_;
  std::condition_variable handed_over_, ended_;
  std::vector<Work> inbox_;
  std::vector<char> done_;  // by op; written by the thread under the mutex
  std::size_t open_ = 0;    // handed over and not ended
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace plait
