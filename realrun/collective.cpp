#include "realrun/collective.h"

#include <algorithm>
#include <cstring>

namespace plait {
namespace {

template <class T>
std::vector<std::byte> packed(const std::vector<Piece<T>>& parts) {
  std::vector<std::byte> out;
  for (const Piece<T>& p : parts) {
    const auto* bytes = reinterpret_cast<const std::byte*>(p.data);
    out.insert(out.end(), bytes, bytes + static_cast<std::size_t>(p.elements) * sizeof(T));
  }
  return out;
}

/// Combines element `i` of what all members gave, in the order of ranks.
template <class T>
T combined(const std::vector<std::vector<std::byte>>& given, std::size_t i, Reduction reduction) {
  T sum{};
  for (std::size_t m = 0; m < given.size(); ++m) {
    T value;
    std::memcpy(&value, given[m].data() + i * sizeof(T), sizeof(T));
    if (m == 0)
      sum = value;
    else
      sum = reduction == Reduction::kSum ? sum + value : std::max(sum, value);
  }
  return sum;
}

}  // namespace

template <class T>
void all_reduce(Transport& transport, std::span<const std::int64_t> members,
                const std::string& what, const std::vector<Piece<T>>& parts, Reduction reduction) {
  const auto given = transport.exchange(members, what, packed(parts));
  std::size_t at = 0;
  for (const Piece<T>& p : parts) {
    for (std::int64_t i = 0; i < p.elements; ++i) p.data[i] = combined<T>(given, at++, reduction);
  }
}

template <class T>
void reduce_scatter(Transport& transport, std::span<const std::int64_t> members, std::size_t index,
                    const std::string& what, const Piece<T>& in, const Piece<T>& out) {
  const auto given = transport.exchange(members, what, packed<T>({in}));
  const std::size_t begin = index * static_cast<std::size_t>(out.elements);
  for (std::int64_t i = 0; i < out.elements; ++i) {
    out.data[i] = combined<T>(given, begin + static_cast<std::size_t>(i), Reduction::kSum);
  }
}

template <class T>
void all_gather(Transport& transport, std::span<const std::int64_t> members,
                const std::string& what, const Piece<T>& in, const Piece<T>& out) {
  const auto given = transport.exchange(members, what, packed<T>({in}));
  T* to = out.data;
  for (const std::vector<std::byte>& share : given) {
    std::memcpy(to, share.data(), share.size());
    to += share.size() / sizeof(T);
  }
}

#define PLAIT_INSTANTIATE(T)                                                                 \
  template void all_reduce<T>(Transport&, std::span<const std::int64_t>, const std::string&, \
                              const std::vector<Piece<T>>&, Reduction);                      \
  template void reduce_scatter<T>(Transport&, std::span<const std::int64_t>, std::size_t,    \
                                  const std::string&, const Piece<T>&, const Piece<T>&);     \
  template void all_gather<T>(Transport&, std::span<const std::int64_t>, const std::string&, \
                              const Piece<T>&, const Piece<T>&);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait
