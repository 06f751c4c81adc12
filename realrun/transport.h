#pragma once
// How ranks exchange numbers. An implementation moves bytes; what a collective means is written
// once, in collective.h, on top of it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plait {

class Transport {
 public:
  virtual ~Transport() = default;
  /// Gives `mine` to all members and returns what each gave, in the order of `members` (ascending
  /// ranks). `what` tells exchanges apart and names them in errors; every member passes the same.
  /// Throws EnvironmentError when a member does not come.
  virtual std::vector<std::vector<std::byte>> exchange(std::span<const std::int64_t> members,
                                                       const std::string& what,
                                                       std::span<const std::byte> mine) = 0;
  /// Hands a message over without waiting for its receiver.
  virtual void send(std::int64_t to, const std::string& what, std::span<const std::byte> bytes) = 0;
  virtual std::vector<std::byte> receive(std::int64_t from, const std::string& what) = 0;
};

}  // namespace plait
