// Ranks as MPI processes: shared memory on one machine, whatever the MPI library has between
// machines. A plug-in, see realrun/transport/plugin.h.
#include <mpi.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <list>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/error.h"
#include "realrun/op_time.h"
#include "realrun/transport/mismatch.h"
#include "realrun/transport/mpi/library.h"

namespace plait {
namespace {

// MPI has nothing that sleeps until a message comes, so a waiting rank looks again and again: at
// first giving its core away each time, then with pauses, so that it hardly costs the ranks that
// compute on the same cores.
constexpr std::int64_t kEagerNs = 50'000;
constexpr std::chrono::microseconds kPause{20};
// MPI counts are ints.
constexpr std::size_t kLargestMessage = std::size_t{1} << 30;

/// Lets the calling thread's pauses last as long as they say: Linux would add up to 50 us to bundle
/// timers.
void keep_pauses_short() {
  thread_local const int done = prctl(PR_SET_TIMERSLACK, 1UL);
  static_cast<void>(done);
}

struct Pending {
  BytesOnTheWay* transfer;
  std::vector<MPI_Request> requests;
};

class MpiTransport : public Transport {
 public:
  explicit MpiTransport(int channels) {
    int level = MPI_THREAD_SINGLE;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
    if (level < MPI_THREAD_SERIALIZED) {
      MPI_Finalize();
      throw EnvironmentError("this MPI library cannot be used from a second thread");
    }
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &ranks_);
    library_.emplace(world_);
    static_cast<void>(channels);  // tags tell them apart
  }
  ~MpiTransport() override {
    // A rank that failed must not wait for the others in MPI_Finalize.
    if (std::uncaught_exceptions() > 0 || !pending_.empty()) MPI_Abort(MPI_COMM_WORLD, kFailed);
    library_.reset();
    MPI_Finalize();
  }

  CollectiveLibrary* library() override { return &*library_; }
  std::int64_t rank() const override { return rank_; }
  std::int64_t ranks() const override { return ranks_; }
  std::string name() const override { return "mpi"; }

  void start(BytesOnTheWay& t) override {
    Pending p{&t, {}};
    std::size_t first = 0;
    do {
      const auto count = static_cast<int>(std::min(t.bytes - first, kLargestMessage));
      MPI_Request request = MPI_REQUEST_NULL;
      const int peer = static_cast<int>(t.peer);
      if (t.flow == Flow::kOut) {
        check_mpi(MPI_Isend(t.data + first, count, MPI_BYTE, peer, tag_of(t), world_, &request),
                  "MPI_Isend");
      } else {
        check_mpi(MPI_Irecv(t.data + first, count, MPI_BYTE, peer, tag_of(t), world_, &request),
                  "MPI_Irecv");
      }
      p.requests.push_back(request);
      first += static_cast<std::size_t>(count);
    } while (first < t.bytes);
    pending_.push_back(std::move(p));
  }

  bool progress(double most_s) override {
    keep_pauses_short();
    const std::int64_t begin = now_ns();
    while (true) {
      bool moved = library_->progress();
      for (auto it = pending_.begin(); it != pending_.end();) {
        if (!finished(*it)) {
          ++it;
          continue;
        }
        it->transfer->done = moved = true;
        it = pending_.erase(it);
      }
      if (moved) return true;
      if (woken_.exchange(false)) return false;
      const std::int64_t waited = now_ns() - begin;
      if (static_cast<double>(waited) > most_s * 1e9) return false;
      waited < kEagerNs ? static_cast<void>(sched_yield()) : std::this_thread::sleep_for(kPause);
    }
  }
  void wake() override { woken_ = true; }

 private:
  static constexpr int kFailed = 3;

  /// The channel, with some of the tag: ends that mean different things never meet, and the
  /// watchdog says so.
  static int tag_of(const BytesOnTheWay& t) {
    return static_cast<int>((t.tag % 1021) * 16 + static_cast<std::uint64_t>(t.channel));
  }
  bool finished(Pending& p) {
    MPI_Status status;
    int done = 0;
    while (!p.requests.empty()) {
      check_mpi(MPI_Test(&p.requests.front(), &done, &status), "MPI_Test");
      if (done == 0) return false;
      if (p.transfer->flow == Flow::kIn) {
        int count = 0;
        MPI_Get_count(&status, MPI_BYTE, &count);
        p.transfer->moved += static_cast<std::size_t>(count);
      }
      p.requests.erase(p.requests.begin());
    }
    if (p.transfer->flow == Flow::kIn && p.transfer->moved != p.transfer->bytes) {
      throw mismatch(rank_, *p.transfer);
    }
    return true;
  }

  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, ranks_ = 1;
  std::list<Pending> pending_;
  std::optional<MpiLibrary> library_;
  std::atomic<bool> woken_ = false;
};

}  // namespace
}  // namespace plait

extern "C" plait::Transport* plait_transport(int channels) {
  return new plait::MpiTransport(channels);
}
