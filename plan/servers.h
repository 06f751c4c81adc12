#pragma once
// Parameter servers of a data-parallel group (Li et al. 2014, OSDI): some members keep the
// parameters and their optimizer state, each an equal share; the others push gradients to them and
// pull weights from them. A member works (computes gradients), serves, or does both.

#include <cstdint>

namespace plait {

struct Servers {
  std::int64_t count = 0;  // 0: none
  /// The last members of the group do nothing but serve. False: servers are spread evenly over the
  /// members, all of which work.
  bool dedicated = false;

  bool any() const { return count > 0; }
  /// Of a group of `members`; the first ones.
  std::int64_t workers(std::int64_t members) const { return dedicated ? members - count : members; }
  bool works(std::int64_t members, std::int64_t member) const { return member < workers(members); }
  /// The member that keeps share `share` of `count`.
  std::int64_t member_of(std::int64_t members, std::int64_t share) const {
    return dedicated ? members - count + share : share * members / count;
  }
  /// The share that a member keeps, or -1.
  std::int64_t share_of(std::int64_t members, std::int64_t member) const {
    for (std::int64_t share = 0; share < count; ++share) {
      if (member_of(members, share) == member) return share;
    }
    return -1;
  }
  bool operator==(const Servers&) const = default;
};

/// What a rank does in a plan; both where there are no servers.
struct Role {
  bool works = true, serves = true;
  bool operator==(const Role&) const = default;
};

/// Which ranks hold a tensor.
enum class Holders : std::uint8_t { kWorkers, kServers, kAll };
constexpr bool holds(Role role, Holders holders) {
  switch (holders) {
    case Holders::kWorkers: return role.works;
    case Holders::kServers: return role.serves;
    case Holders::kAll: return true;
  }
  return true;
}

}  // namespace plait
