#pragma once
// The patterns behind `rounds_of`, one file each. They may name transfers of no elements, which
// `rounds_of` leaves out; the group has at least two members.

#include "plan/collectives/rounds.h"

namespace plait {

std::vector<Round> ring(CollectiveKind kind, std::int64_t members, std::int64_t index,
                        std::int64_t elements);
std::vector<Round> recursive_doubling(std::int64_t members, std::int64_t index,
                                      std::int64_t elements);
/// Throws InternalError where the elements are no multiple of the members.
std::vector<Round> direct(std::int64_t members, std::int64_t index, std::int64_t elements);
std::vector<Round> binomial(std::int64_t members, std::int64_t index, std::int64_t elements);

}  // namespace plait
