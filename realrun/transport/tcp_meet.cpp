// Ranks that a launcher started know only rank 0's address; through it they learn one another's.
#include <algorithm>
#include <array>

#include "core/error.h"
#include "realrun/transport/tcp_sockets.h"

namespace plait {
namespace {

/// One rank's entry of the table, as it travels.
struct Entry {
  std::int64_t rank = 0;
  std::array<char, 16> host = {};  // IPv4 in digits
  std::uint16_t port = 0;
};

Entry entry(std::int64_t rank, const TcpAddress& address) {
  Entry out;
  out.rank = rank, out.port = address.port;
  std::copy_n(address.host.begin(), std::min<std::size_t>(address.host.size(), 15),
              out.host.begin());
  return out;
}

std::vector<TcpAddress> as_host(std::int64_t ranks, const TcpAddress& meeting,
                                const TcpAddress& own, const Deadline& deadline) {
  TcpAddress at = meeting;
  const Descriptor door = listen_at(at);
  std::vector<Descriptor> guests;
  std::vector<Entry> table(static_cast<std::size_t>(ranks));
  table[0] = entry(0, own);
  for (std::int64_t i = 1; i < ranks; ++i) {
    const std::string whom =
        "the other ranks: " + std::to_string(i) + " of " + std::to_string(ranks) + " have come";
    Descriptor guest = accept_from(door, deadline, whom);
    Entry e;
    receive_all(guest, writable_bytes_of(e), deadline, whom);
    if (e.rank <= 0 || e.rank >= ranks || table[static_cast<std::size_t>(e.rank)].port != 0) {
      throw EnvironmentError("two ranks call themselves " + std::to_string(e.rank) +
                             ", or there are more than " + std::to_string(ranks));
    }
    table[static_cast<std::size_t>(e.rank)] = e;
    if (table[0].host[0] == '\0') table[0] = entry(0, {local_host(guest), own.port});
    guests.push_back(std::move(guest));
  }
  std::vector<TcpAddress> out;
  for (const Entry& e : table) out.push_back({e.host.data(), e.port});
  for (const Descriptor& guest : guests) {
    send_all(guest, std::as_bytes(std::span(table)), "a rank");
  }
  return out;
}

std::vector<TcpAddress> as_guest(std::int64_t rank, std::int64_t ranks, const TcpAddress& meeting,
                                 std::uint16_t port, const Deadline& deadline) {
  const Descriptor socket = connect_to(meeting, deadline, "rank 0 (MASTER_ADDR and MASTER_PORT)");
  send_all(socket, bytes_of(entry(rank, {local_host(socket), port})), "rank 0");
  std::vector<Entry> table(static_cast<std::size_t>(ranks));
  receive_all(socket, std::as_writable_bytes(std::span(table)), deadline, "rank 0");
  std::vector<TcpAddress> out;
  for (const Entry& e : table) out.push_back({e.host.data(), e.port});
  return out;
}

}  // namespace

std::vector<TcpAddress> meet(std::int64_t rank, std::int64_t ranks, const TcpAddress& meeting,
                             Descriptor& listener, double patience_s) {
  const Deadline deadline(patience_s);
  TcpAddress own{"0.0.0.0", 0};
  listener = listen_at(own);
  if (ranks == 1) return {{"127.0.0.1", own.port}};
  own.host.clear();
  return rank == 0 ? as_host(ranks, meeting, own, deadline)
                   : as_guest(rank, ranks, meeting, own.port, deadline);
}

}  // namespace plait
