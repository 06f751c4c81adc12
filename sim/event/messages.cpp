#include "sim/event/messages.h"

#include <algorithm>

#include "core/error.h"

namespace plait {
namespace {

// What the network stack takes over at once: the largest packet that Linux hands to a device
// (GSO_LEGACY_MAX_SIZE in include/linux/netdevice.h).
constexpr Bytes kPiece{65536};

/// CPU work of one end: of one piece, and of what is left.
struct EndWork {
  SimTime piece = 0, rest = 0;
};
EndWork split(const Piecewise& work, Bytes bytes, bool near) {
  const SimTime all = to_sim_time(work.at(bytes));
  const SimTime piece = near ? all : std::min(all, to_sim_time(work.at(std::min(bytes, kPiece))));
  return {piece, all - piece};
}

}  // namespace

SimTime Messages::latency(const Message& m) const {
  return to_sim_time(m.near ? system_.within.latency : system_.between.latency + system_.wire);
}

/// The message whose other end waits, or a new one.
std::uint32_t Messages::meet(const MessageEnd& end, bool sends) {
  const auto from = sends ? end.rank : end.peer, to = sends ? end.peer : end.rank;
  Channel& channel = channels_[{from, to, end.channel}];
  auto id = static_cast<std::uint32_t>(messages_.size());
  if (channel.waiting.empty() || channel.sends == sends) {
    channel.waiting.push_back(id);
    channel.sends = sends;
    messages_.emplace_back().near = machine_.same_host(from, to);
    return id;
  }
  id = channel.waiting.front();
  channel.waiting.pop_front();
  const MessageEnd& other = sends ? messages_[id].receiver : messages_[id].sender;
  PLAIT_CHECK(other.tag == end.tag && other.bytes == end.bytes,
              "rank " + std::to_string(from) + " sends something else than rank " +
                  std::to_string(to) + " expects");
  return id;
}

void Messages::send(const MessageEnd& end) {
  const std::uint32_t id = meet(end, true);
  Message& m = messages_[id];
  m.sender = end;
  const MessageFit& fit = m.near ? system_.within : system_.between;
  const EndWork work = split(fit.send, end.bytes, m.near);
  m.send_rest = work.rest;
  machine_.work(end.rank, end.stream, work.piece, EventKind::kSentHead, id);
}

void Messages::receive(const MessageEnd& end) {
  const std::uint32_t id = meet(end, false);
  Message& m = messages_[id];
  m.receiver = end;
  m.posted = true;
  const MessageFit& fit = m.near ? system_.within : system_.between;
  const EndWork work = split(fit.receive, end.bytes, m.near);
  m.read_tail = work.piece, m.read_rest = work.rest;
  read(id);
}

std::optional<TransferEnd> Messages::sent_head(std::uint32_t id) {
  Message& m = messages_[id];
  if (m.near) {
    machine_.after(latency(m), m.sender.peer, EventKind::kArrived, id);
    return TransferEnd{m.sender.rank, m.sender.stream};
  }
  machine_.flow(m.sender.rank, m.sender.peer, m.sender.bytes, id);
  machine_.after(latency(m), m.sender.peer, EventKind::kFirstBytes, id);
  if (m.send_rest > 0) {
    ++m.going_on;
    machine_.work(m.sender.rank, m.sender.stream, m.send_rest, EventKind::kSentRest, id);
  }
  return std::nullopt;
}

std::optional<TransferEnd> Messages::sender_went_on(std::uint32_t id) {
  Message& m = messages_[id];
  if (--m.going_on > 0) return std::nullopt;
  machine_.after(latency(m), m.sender.peer, EventKind::kArrived, id);
  return TransferEnd{m.sender.rank, m.sender.stream};
}

/// Gives the receiver the work that it can do by now.
void Messages::read(std::uint32_t id) {
  Message& m = messages_[id];
  if (!m.posted) return;
  if (m.first && m.read_rest > 0 && !m.rest_given) {
    m.rest_given = true;
    machine_.work(m.receiver.rank, m.receiver.stream, m.read_rest, EventKind::kReadRest, id);
  }
  if (m.arrived && !m.tail_given) {
    m.tail_given = true;
    machine_.work(m.receiver.rank, m.receiver.stream, m.read_tail, EventKind::kReadTail, id);
  }
}

std::optional<TransferEnd> Messages::handle(const HostEvent& event) {
  Message& m = messages_[event.id];
  switch (event.kind) {
    case EventKind::kSentHead: return sent_head(event.id);
    case EventKind::kSentRest:
    case EventKind::kFlowed: return sender_went_on(event.id);
    case EventKind::kFirstBytes: m.first = true; break;
    case EventKind::kArrived: m.arrived = true; break;
    case EventKind::kReadRest: return std::nullopt;  // the tail stands behind it in the thread
    case EventKind::kReadTail: return TransferEnd{m.receiver.rank, m.receiver.stream};
    case EventKind::kComputed:
    case EventKind::kLocal:
    case EventKind::kGathered:
    case EventKind::kHandedOver:
    case EventKind::kResumed:
    case EventKind::kCombined: PLAIT_CHECK(false, "an event that is no message's");
  }
  read(event.id);
  return std::nullopt;
}

}  // namespace plait
