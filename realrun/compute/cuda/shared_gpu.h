#pragma once
// One GPU whose ranks are threads of one process, each with multiprocessors of its own: a green
// context (CUDA driver API, "Green contexts"). Memory, second-level cache and copy engines stay
// shared. And the board on which the ranks tell one another where their buffers are and what of
// their streams others have to wait for.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "realrun/compute/cuda/objects.h"
#include "realrun/transport.h"

namespace plait::cuda {

/// What of a GPU a rank computes on.
class GpuShare {
 public:
  virtual ~GpuShare() = default;
  GpuShare() = default;
  GpuShare(const GpuShare&) = delete;
  GpuShare& operator=(const GpuShare&) = delete;
  /// From any thread. A stream must go before its share does: CUDA destroys no stream whose green
  /// context has gone (cuGreenCtxDestroy).
  virtual StreamHandle make_stream() const = 0;
  virtual int multiprocessors() const = 0;
};
/// All of a device, the calling thread's.
std::shared_ptr<GpuShare> whole_gpu(int device);
/// Equal parts of the calling thread's device, as large as its partitions allow; they go when all
/// of them have gone. Throws EnvironmentError where the driver has no green contexts or the device
/// too few multiprocessors.
std::vector<std::shared_ptr<GpuShare>> green_contexts(int device, std::int64_t parts);

/// What one member of a meeting shows the others.
struct Post {
  std::shared_ptr<EventHandle> event;    // others' streams wait for it
  std::vector<std::byte*> in, out = {};  // its operands
};
/// What one rank leaves for another: a message, in memory of its own.
struct Letter {
  std::shared_ptr<EventHandle> written;  // the reader's stream waits for it
  std::shared_ptr<std::byte[]> bytes;    // of the device
};
/// The exchange with this number of a channel's in a group, at one of its stages.
struct Meeting {
  int channel = 0;
  std::vector<std::int64_t> group;
  std::int64_t number = 0;
  int stage = 0;
  auto operator<=>(const Meeting&) const = default;
};

class Board {
 public:
  explicit Board(std::int64_t ranks) : transports_(static_cast<std::size_t>(ranks)) {}
  /// From here on `transport` is woken when something is posted for its rank; null: no longer.
  void join(std::int64_t rank, Transport* transport);
  void post(const Meeting& meeting, std::int64_t member, Post post);
  /// Of all members, when all have posted. Each may ask until it has got them, once.
  std::optional<std::vector<Post>> take(const Meeting& meeting);
  /// In a meeting of two, for the second, whom the first does not wait for.
  void leave(const Meeting& meeting, Letter letter);
  /// What was left, once, or nothing yet.
  std::optional<Letter> fetch(const Meeting& meeting);

 private:
  struct Posts {
    std::vector<Post> of;
    std::size_t posted = 0, taken = 0;
  };
  void wake(std::int64_t rank) const;

  std::mutex mutex_;
  std::vector<Transport*> transports_;  // by rank
  std::map<Meeting, Posts> posts_;
  std::map<Meeting, Letter> letters_;
};

/// What the ranks of one process share.
struct SharedGpu {
  SharedGpu(int device, std::int64_t ranks) : board(ranks), shares(green_contexts(device, ranks)) {}
  Board board;
  std::vector<std::shared_ptr<GpuShare>> shares;  // by rank
};
/// The same one on every rank; rank 0 makes it. All ranks call it; they are threads of a process.
std::shared_ptr<SharedGpu> meet_on_gpu(int device, Transport& transport);

}  // namespace plait::cuda
