#include "realrun/transport/tcp_sockets.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "realrun/op_time.h"

namespace plait {
namespace {

/// Resolves host names too: a meeting point may be given by name.
sockaddr_in socket_address(const TcpAddress& address) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(address.port);
  if (inet_pton(AF_INET, address.host.c_str(), &out.sin_addr) == 1) return out;
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  if (getaddrinfo(address.host.c_str(), nullptr, &hints, &found) != 0 || found == nullptr) {
    throw EnvironmentError("no machine is called '" + address.host + "'");
  }
  sockaddr_in resolved{};
  std::memcpy(&resolved, found->ai_addr, sizeof resolved);
  freeaddrinfo(found);
  out.sin_addr = resolved.sin_addr;
  return out;
}

Descriptor new_socket() {
  Descriptor out(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!out.open()) throw EnvironmentError("cannot make a socket: " + system_error());
  return out;
}

std::string text(const TcpAddress& a) { return a.host + ":" + std::to_string(a.port); }

/// After bind has failed.
const char* how_to_listen() {
  if (errno == EADDRINUSE) return "; choose a free port (MASTER_PORT, the same on every rank)";
  if (errno == EADDRNOTAVAIL) return "; it must be an address of rank 0's machine (MASTER_ADDR)";
  return "";
}

/// Waits until the socket can be read.
void wait_readable(const Descriptor& socket, const Deadline& deadline, const std::string& whom) {
  pollfd p{socket.get(), POLLIN, 0};
  int got = 0;
  do {
    got = poll(&p, 1, std::max(0, deadline.left_ms()));
  } while (got < 0 && errno == EINTR);
  if (got <= 0) throw EnvironmentError("waited in vain for " + whom);
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Deadline::Deadline(double seconds) : at_ns_(now_ns() + static_cast<std::int64_t>(seconds * 1e9)) {}
int Deadline::left_ms() const { return static_cast<int>((at_ns_ - now_ns()) / 1'000'000); }

std::string system_error() { return std::strerror(errno); }

Descriptor listen_at(TcpAddress& address) {
  Descriptor out = new_socket();
  const int one = 1;
  setsockopt(out.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in a = socket_address(address);
  if (bind(out.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0) {
    const char* help = how_to_listen();
    throw EnvironmentError("cannot listen at " + text(address) + ": " + system_error() + help);
  }
  if (listen(out.get(), SOMAXCONN) != 0) {
    throw EnvironmentError("cannot listen at " + text(address) + ": " + system_error());
  }
  socklen_t size = sizeof a;
  getsockname(out.get(), reinterpret_cast<sockaddr*>(&a), &size);
  address.port = ntohs(a.sin_port);
  return out;
}

Descriptor connect_to(const TcpAddress& address, const Deadline& deadline,
                      const std::string& whom) {
  const sockaddr_in a = socket_address(address);
  while (true) {
    Descriptor out = new_socket();
    if (connect(out.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0) {
      const int one = 1;
      setsockopt(out.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      return out;
    }
    if (deadline.passed() || (errno != ECONNREFUSED && errno != EINTR && errno != ETIMEDOUT)) {
      throw EnvironmentError("cannot reach " + whom + " at " + text(address) + ": " +
                             system_error());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

Descriptor accept_from(const Descriptor& listener, const Deadline& deadline,
                       const std::string& whom) {
  wait_readable(listener, deadline, whom);
  Descriptor out(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!out.open()) throw EnvironmentError("cannot take the connection of " + whom);
  const int one = 1;
  setsockopt(out.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return out;
}

void send_all(const Descriptor& socket, std::span<const std::byte> bytes, const std::string& whom) {
  while (!bytes.empty()) {
    const ssize_t n = send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw EnvironmentError("lost " + whom + ": " + system_error());
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void receive_all(const Descriptor& socket, std::span<std::byte> bytes, const Deadline& deadline,
                 const std::string& whom) {
  while (!bytes.empty()) {
    wait_readable(socket, deadline, whom);
    const ssize_t n = recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw EnvironmentError("lost " + whom + ": it closed the connection");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

std::string local_host(const Descriptor& socket) {
  sockaddr_in a{};
  socklen_t size = sizeof a;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&a), &size);
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &a.sin_addr, text, sizeof text);
  return text;
}

}  // namespace plait
