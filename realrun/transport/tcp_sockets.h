#pragma once
// Sockets with deadlines and errors that say whom they were for. Part of tcp.h.

#include <span>
#include <string>

#include "realrun/transport/tcp.h"

namespace plait {

class Deadline {
 public:
  explicit Deadline(double seconds);
  bool passed() const { return left_ms() <= 0; }
  int left_ms() const;

 private:
  std::int64_t at_ns_;
};

/// The last system error in words: "Connection refused".
std::string system_error();

/// Connects, again and again until there is a listener. `whom` names the other end in errors.
Descriptor connect_to(const TcpAddress& address, const Deadline& deadline, const std::string& whom);
/// Takes a connection.
Descriptor accept_from(const Descriptor& listener, const Deadline& deadline,
                       const std::string& whom);
void send_all(const Descriptor& socket, std::span<const std::byte> bytes, const std::string& whom);
void receive_all(const Descriptor& socket, std::span<std::byte> bytes, const Deadline& deadline,
                 const std::string& whom);
/// Numeric address of the local end.
std::string local_host(const Descriptor& socket);

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}
template <class T>
std::span<std::byte> writable_bytes_of(T& value) {
  return std::as_writable_bytes(std::span<T, 1>(&value, 1));
}

}  // namespace plait
