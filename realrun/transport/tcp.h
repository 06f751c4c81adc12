#pragma once
// Ranks joined by TCP connections, one for each pair of ranks and channel, so that the kernel
// shares a link among streams and none waits behind another. One `poll` serves all of them in both
// directions. How the ranks were started does not matter.

#include <memory>
#include <string>
#include <vector>

#include "realrun/transport.h"

namespace plait {

/// Closes the descriptor that it holds.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// Where a rank takes connections.
struct TcpAddress {
  std::string host;  // IPv4, "127.0.0.1"
  std::uint16_t port = 0;
};

/// A socket that takes connections at `address`; port 0: any free one, which is filled in. Throws
/// EnvironmentError when the port is in use or the address is not this machine's.
Descriptor listen_at(TcpAddress& address);

/// Connects the ranks: each connects to the ranks before it and takes the connections of those
/// behind it. `listener` is this rank's, at `addresses[rank]`. Gives up after `patience_s` with an
/// EnvironmentError that names the rank that is missing.
std::unique_ptr<Transport> connect_ranks(std::int64_t rank,
                                         const std::vector<TcpAddress>& addresses,
                                         Descriptor listener, int channels, double patience_s);

/// The addresses of all ranks, exchanged through rank 0, which listens at `meeting`. `listener` is
/// filled in with this rank's.
std::vector<TcpAddress> meet(std::int64_t rank, std::int64_t ranks, const TcpAddress& meeting,
                             Descriptor& listener, double patience_s);

}  // namespace plait
