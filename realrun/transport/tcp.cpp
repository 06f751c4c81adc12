#include "realrun/transport/tcp.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>

#include "core/error.h"
#include "realrun/transport/mismatch.h"
#include "realrun/transport/tcp_sockets.h"

namespace plait {
namespace {

/// In front of every transfer.
struct Header {
  std::uint64_t tag = 0, bytes = 0;
};

/// A connection gives way to the others after so many bytes.
constexpr std::size_t kTurn = 262'144;

class Connection {
 public:
  Connection(Descriptor socket, std::int64_t rank, std::int64_t peer)
      : socket_(std::move(socket)), rank_(rank), peer_(peer) {
    fcntl(socket_.get(), F_SETFL, fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
  }
  void start(BytesOnTheWay& t) { (t.flow == Flow::kOut ? out_ : in_).push_back(&t); }
  short events() const {
    return static_cast<short>((out_.empty() ? 0 : POLLOUT) | (in_.empty() ? 0 : POLLIN));
  }
  int descriptor() const { return socket_.get(); }

  /// True when bytes moved.
  bool send_some() {
    bool moved = false;
    for (std::size_t sent = 0; !out_.empty() && sent < kTurn;) {
      BytesOnTheWay& t = *out_.front();
      if (out_header_ == 0) header_out_ = {t.tag, t.bytes};
      std::array<iovec, 2> parts = {iovec{reinterpret_cast<std::byte*>(&header_out_) + out_header_,
                                          sizeof(Header) - out_header_},
                                    iovec{t.data + t.moved, std::min(t.bytes - t.moved, kTurn)}};
      msghdr message{};
      message.msg_iov = parts.data(), message.msg_iovlen = parts.size();
      const ssize_t n = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
      if (n < 0) throw gone();
      moved = true;
      const auto all = static_cast<std::size_t>(n);
      const std::size_t of_header = std::min(all, sizeof(Header) - out_header_);
      out_header_ += of_header;
      t.moved += all - of_header;
      sent += all;
      if (out_header_ < sizeof(Header) || t.moved < t.bytes) continue;
      t.done = true;
      out_header_ = 0;
      out_.pop_front();
    }
    return moved;
  }

  bool receive_some() {
    bool moved = false;
    for (std::size_t got = 0; !in_.empty() && got < kTurn;) {
      BytesOnTheWay& t = *in_.front();
      const bool header = in_header_ < sizeof(Header);
      std::byte* to =
          header ? reinterpret_cast<std::byte*>(&header_in_) + in_header_ : t.data + t.moved;
      const ssize_t n =
          recv(socket_.get(), to,
               header ? sizeof(Header) - in_header_ : std::min(t.bytes - t.moved, kTurn), 0);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
      if (n <= 0) throw gone();
      moved = true;
      got += static_cast<std::size_t>(n);
      (header ? in_header_ : t.moved) += static_cast<std::size_t>(n);
      if (header && in_header_ == sizeof(Header) &&
          (header_in_.tag != t.tag || header_in_.bytes != t.bytes)) {
        throw mismatch(rank_, t);
      }
      if (in_header_ < sizeof(Header) || t.moved < t.bytes) continue;
      t.done = true;
      in_header_ = 0;
      in_.pop_front();
    }
    return moved;
  }

 private:
  EnvironmentError gone() const {
    return EnvironmentError("rank " + std::to_string(rank_) + " lost rank " +
                            std::to_string(peer_) + ": the connection is closed");
  }

  Descriptor socket_;
  std::int64_t rank_, peer_;
  std::deque<BytesOnTheWay*> out_, in_;
  Header header_out_, header_in_;
  std::size_t out_header_ = 0, in_header_ = 0;  // bytes of the header that have moved
};

class TcpTransport : public Transport {
 public:
  TcpTransport(std::int64_t rank, std::int64_t ranks, int channels)
      : rank_(rank),
        ranks_(ranks),
        channels_(channels),
        connections_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(channels)),
        bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!bell_.open()) throw EnvironmentError("cannot make an event descriptor: " + system_error());
  }
  void connected(std::int64_t peer, int channel, Descriptor socket) {
    slot(peer, channel) = std::make_unique<Connection>(std::move(socket), rank_, peer);
  }
  bool has(std::int64_t peer, int channel) { return slot(peer, channel) != nullptr; }

  std::int64_t rank() const override { return rank_; }
  std::int64_t ranks() const override { return ranks_; }
  std::string name() const override { return "tcp"; }
  void start(BytesOnTheWay& t) override { slot(t.peer, t.channel)->start(t); }
  bool progress(double most_s) override {
    polled_.assign(1, {bell_.get(), POLLIN, 0});
    busy_.clear();
    for (const std::unique_ptr<Connection>& c : connections_) {
      if (c == nullptr || c->events() == 0) continue;
      polled_.push_back({c->descriptor(), c->events(), 0});
      busy_.push_back(c.get());
    }
    const int n = poll(polled_.data(), polled_.size(), static_cast<int>(most_s * 1e3) + 1);
    if (n < 0 && errno != EINTR) throw EnvironmentError("cannot poll: " + system_error());
    if (n <= 0) return false;
    if ((polled_[0].revents & POLLIN) != 0) {
      std::uint64_t rings = 0;
      static_cast<void>(!read(bell_.get(), &rings, sizeof rings));
    }
    bool moved = false;
    for (std::size_t i = 0; i < busy_.size(); ++i) {
      const short events = polled_[i + 1].revents;
      if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && busy_[i]->receive_some()) moved = true;
      if ((events & (POLLOUT | POLLERR)) != 0 && busy_[i]->send_some()) moved = true;
    }
    return moved;
  }
  void wake() override {
    const std::uint64_t one = 1;
    static_cast<void>(!write(bell_.get(), &one, sizeof one));
  }

 private:
  std::unique_ptr<Connection>& slot(std::int64_t peer, int channel) {
    return connections_.at(static_cast<std::size_t>(peer * channels_ + channel));
  }

  std::int64_t rank_, ranks_;
  int channels_;
  std::vector<std::unique_ptr<Connection>> connections_;
  Descriptor bell_;
  std::vector<pollfd> polled_;
  std::vector<Connection*> busy_;
};

/// Who calls, and for which channel.
struct Hello {
  std::int64_t rank = 0, channel = 0;
};

}  // namespace

std::unique_ptr<Transport> connect_ranks(std::int64_t rank,
                                         const std::vector<TcpAddress>& addresses,
                                         Descriptor listener, int channels, double patience_s) {
  const Deadline deadline(patience_s);
  const auto ranks = static_cast<std::int64_t>(addresses.size());
  auto transport = std::make_unique<TcpTransport>(rank, ranks, channels);
  for (std::int64_t peer = 0; peer < rank; ++peer) {
    const std::string whom = "rank " + std::to_string(peer);
    for (int channel = 0; channel < channels; ++channel) {
      Descriptor socket = connect_to(addresses[static_cast<std::size_t>(peer)], deadline, whom);
      send_all(socket, bytes_of(Hello{rank, channel}), whom);
      transport->connected(peer, channel, std::move(socket));
    }
  }
  for (std::int64_t missing = (ranks - 1 - rank) * channels; missing > 0; --missing) {
    const std::string whom = "the ranks behind rank " + std::to_string(rank);
    Descriptor socket = accept_from(listener, deadline, whom);
    Hello hello;
    receive_all(socket, writable_bytes_of(hello), deadline, whom);
    const bool known = hello.rank > rank && hello.rank < ranks && hello.channel >= 0 &&
                       hello.channel < channels &&
                       !transport->has(hello.rank, static_cast<int>(hello.channel));
    if (!known) throw EnvironmentError("a stranger connected to rank " + std::to_string(rank));
    transport->connected(hello.rank, static_cast<int>(hello.channel), std::move(socket));
  }
  return transport;
}

}  // namespace plait
