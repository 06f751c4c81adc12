#pragma once
// What a plan's collective does to the numbers of a rank, over any transport.

#include <span>
#include <string>
#include <vector>

#include "plan/op.h"
#include "realrun/transport.h"

namespace plait {

/// Part of the storage of an op's operands.
template <class T>
struct Piece {
  T* data = nullptr;
  std::int64_t elements = 0;
};

/// parts = their sum (maximum) over all members, everywhere.
template <class T>
void all_reduce(Transport& transport, std::span<const std::int64_t> members,
                const std::string& what, const std::vector<Piece<T>>& parts, Reduction reduction);

/// out[elements / n] = this rank's share of the sum of in[elements].
template <class T>
void reduce_scatter(Transport& transport, std::span<const std::int64_t> members, std::size_t index,
                    const std::string& what, const Piece<T>& in, const Piece<T>& out);

/// out[elements] = the shares in[elements / n] of all, one behind the other.
template <class T>
void all_gather(Transport& transport, std::span<const std::int64_t> members,
                const std::string& what, const Piece<T>& in, const Piece<T>& out);

}  // namespace plait
