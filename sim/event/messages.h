#pragma once
// Messages between ranks. Sends and receives of one channel (sender, receiver, number) meet in the
// order in which they are started; sends do not wait for their receive.
//
// Given a message of b bytes, s(b) and r(b) seconds of CPU work at its ends and latency l:
//
//   same host   s(b) at the sender, which is then done; l later r(b) at the receiver, once it has
//               posted its receive
//   otherwise   the network copies piece by piece, so work and flow overlap but for one piece of
//               c = min(b, kPiece) bytes: s(c), then the flow and s(b) - s(c) beside it; the sender
//               is done when both are. l after the flow's start the receiver begins r(b) - r(c),
//               l after its end r(c), which ends the receive.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "sim/event/machine.h"

namespace plait {

/// One end of a message, as its rank sees it.
struct MessageEnd {
  std::uint32_t rank = 0, peer = 0;
  Stream stream = Stream::kTp;  // which the transfer belongs to
  std::uint32_t channel = 0;
  std::uint64_t tag = 0;  // what the bytes are: both ends mean the same
  Bytes bytes;
};

/// A transfer of a rank has come to its end.
struct TransferEnd {
  std::uint32_t rank = 0;
  Stream stream = Stream::kTp;
};

class Messages {
 public:
  Messages(const HostSystem& system, EventMachine& machine) : system_(system), machine_(machine) {}

  /// Both throw InternalError where the two ends mean different things.
  void send(const MessageEnd& end);
  void receive(const MessageEnd& end);
  /// What an event of a message (kSentHead ... kArrived) brings about.
  std::optional<TransferEnd> handle(const HostEvent& event);

 private:
  struct Message {
    MessageEnd sender, receiver;
    bool near = false;                            // within a host
    bool posted = false;                          // the receive
    bool first = false, arrived = false;          // bytes at the receiver
    bool rest_given = false, tail_given = false;  // work of the receiver
    int going_on = 1;  // at the sender: the flow, and the rest of the work if there is one
    SimTime send_rest = 0, read_rest = 0, read_tail = 0;
  };
  struct Channel {
    std::deque<std::uint32_t> waiting;  // messages with one end
    bool sends = false;                 // which end they have
  };
  std::uint32_t meet(const MessageEnd& end, bool sends);
  SimTime latency(const Message& m) const;
  std::optional<TransferEnd> sent_head(std::uint32_t id);
  std::optional<TransferEnd> sender_went_on(std::uint32_t id);
  void read(std::uint32_t id);

  const HostSystem& system_;
  EventMachine& machine_;
  std::vector<Message> messages_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Channel> channels_;
};

}  // namespace plait
