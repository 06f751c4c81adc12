#pragma once
// What the ranks of an event simulation use: cores for their two threads, links, and time. It turns
// all of it into events, which are taken one by one in a fixed order: by time, then rank, kind and
// number. What an event causes at its own time comes behind the events of that time.

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "plan/op.h"
#include "sim/event/cores.h"
#include "sim/event/hosts.h"
#include "sim/event/links.h"

namespace plait {

enum class EventKind : std::uint8_t {
  kComputed,    // the compute thread's op has ended
  kLocal,       // the communication thread's pieces of work have ended: compute or a copy,
  kSentHead,    //   the first part of a message handed to the network,
  kSentRest,    //   the rest of it,
  kReadRest,    //   all but the last part of a message taken from it,
  kReadTail,    //   the last part,
  kGathered,    //   a collective's operands copied to one buffer,
  kCombined,    //   what a round has brought added up
  kFlowed,      // the last byte of a message has left its host
  kFirstBytes,  // the first bytes have come
  kArrived,     // all bytes have come
  kHandedOver,  // the communication thread has woken up for an op
  kResumed      // the compute thread has woken up: what it waited for has ended
};

struct HostEvent {
  SimTime time = 0;
  std::uint32_t rank = 0;
  EventKind kind = EventKind::kComputed;
  std::uint32_t id = 0;  // of a message or stream
  auto operator<=>(const HostEvent&) const = default;
};

class EventMachine {
 public:
  EventMachine(const HostSystem& system, const std::vector<std::int64_t>& host_of_rank);

  SimTime now() const { return now_; }
  /// The communication thread has no piece of work.
  bool asleep(std::uint32_t rank) const {
    return !threads_[rank].busy && threads_[rank].pieces.empty();
  }
  bool same_host(std::uint32_t a, std::uint32_t b) const { return host_[a] == host_[b]; }
  /// CPU work of the compute thread: kComputed when it has been done.
  void compute(std::uint32_t rank, SimTime work);
  /// CPU work of the communication thread, which does one piece after the other, in the order in
  /// which they were given; of those given at one time, the first stream's first.
  void work(std::uint32_t rank, Stream stream, SimTime work, EventKind kind, std::uint32_t id);
  /// Bytes from the host of `from` to that of `to`: kFlowed at `from`.
  void flow(std::uint32_t from, std::uint32_t to, Bytes bytes, std::uint32_t id);
  void after(SimTime delay, std::uint32_t rank, EventKind kind, std::uint32_t id);
  /// Goes on to the next event; false when nothing goes on any more.
  bool next(HostEvent& event);

 private:
  struct Piece {
    SimTime given;
    Stream stream;
    std::uint64_t number;
    SimTime work;
    EventKind kind;
    std::uint32_t id;
    bool operator>(const Piece& o) const {
      return std::tie(given, stream, number) > std::tie(o.given, o.stream, o.number);
    }
  };
  struct Thread {  // communication thread of a rank
    std::priority_queue<Piece, std::vector<Piece>, std::greater<>> pieces;
    bool busy = false;
    EventKind kind = EventKind::kLocal;  // of the piece at work
    std::uint32_t id = 0;
  };
  void start_pieces();
  bool collect();

  SimTime now_ = 0;
  std::vector<std::uint32_t> host_, cores_of_;  // of each rank
  std::vector<Cores> cores_;
  SharedLinks links_;  // of host h: 2 h out, 2 h + 1 in
  std::vector<Thread> threads_;
  std::uint64_t pieces_ = 0;              // given so far
  std::vector<std::uint32_t> woken_;      // ranks whose thread may begin a piece
  std::vector<std::uint32_t> flow_from_;  // by id: the sending rank
  std::priority_queue<HostEvent, std::vector<HostEvent>, std::greater<>> timers_;
  std::vector<HostEvent> due_;  // of now, latest first
  std::vector<std::uint32_t> ended_;
};

}  // namespace plait
