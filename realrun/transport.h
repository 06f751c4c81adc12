#pragma once
// How ranks exchange bytes. A transport starts transfers and moves them on; what a collective means
// is written once, in collective.h, on top of it. Used by one thread (the communication thread of
// communicator.h), except for `wake`.
//
// Between two ranks there are channels, one per stream of the plan. Transfers of one channel and
// direction meet in the order in which they are started; channels do not wait for one another.

#include <cstddef>
#include <cstdint>
#include <string>

namespace plait {

class CollectiveLibrary;

enum class Flow : std::uint8_t { kOut, kIn };

struct BytesOnTheWay {
  Flow flow = Flow::kOut;
  std::int64_t peer = 0;  // rank
  int channel = 0;
  /// What the bytes are: both ends must mean the same.
  std::uint64_t tag = 0;
  std::byte* data = nullptr;  // stays until done
  std::size_t bytes = 0;
  /// Out: the data may be overwritten. In: they are there.
  bool done = false;
  std::size_t moved = 0;  // for the transport's own use
};

class Transport {
 public:
  virtual ~Transport() = default;
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual std::int64_t rank() const = 0;
  virtual std::int64_t ranks() const = 0;
  /// "threads", "tcp", "mpi": what calibrations call it.
  virtual std::string name() const = 0;
  /// Collectives of the transport's own; null where it has none.
  virtual CollectiveLibrary* library() { return nullptr; }
  /// Begins a transfer; `t` stays where it is until it is done.
  virtual void start(BytesOnTheWay& t) = 0;
  /// Moves what can be moved; when nothing can, waits for it, for a `wake` or for `most_s` seconds.
  /// True when something moved. Throws EnvironmentError naming the peer that has gone,
  /// InternalError when the two ends of a channel mean different things.
  virtual bool progress(double most_s) = 0;
  /// Lets a `progress` that waits, or the next one, return at once. From any thread.
  virtual void wake() = 0;
};

}  // namespace plait
