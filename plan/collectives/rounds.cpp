#include "plan/collectives/rounds.h"

#include <bit>

#include "plan/collectives/patterns.h"

namespace plait {
namespace {

// What `pattern_of` assumes of messages between processors: about 8 us to start one, 1 GB/s, 0.5 ns
// to add a byte (fp32 sums out of memory). They decide how long a collective takes, never what it
// gives, and all members must decide alike, so they are no measurements of the machine at hand.
constexpr double kStartBytes = 8192;   // bytes that travel in the time in which a message starts
constexpr double kCombineShare = 0.5;  // time to add a byte / time to move it

/// Bytes up to which recursive doubling is the faster all_reduce. With a = start of a message,
/// b = time per byte moved, c = time per byte added (Thakur et al. 2005, section 4.5):
///   recursive doubling   L a + L S b + L S c           L = doubling_rounds(n)
///   ring                 2 (n - 1) a + 2 (n - 1) / n S b + (n - 1) / n S c
double doubling_limit(std::int64_t members) {
  const auto doublings = static_cast<double>(doubling_rounds(members));
  const double hops = static_cast<double>(members - 1);
  const double share = hops / static_cast<double>(members);
  const double more_starts = 2 * hops - doublings;
  const double more_bytes = doublings * (1 + kCombineShare) - share * (2 + kCombineShare);
  return kStartBytes * more_starts / more_bytes;
}

}  // namespace

Range share_of(std::int64_t elements, std::int64_t members, std::int64_t index) {
  // floor(elements p / n) without the large product: elements = q n + r.
  const std::int64_t q = elements / members, r = elements % members;
  const auto begin = [&](std::int64_t p) { return q * p + r * p / members; };
  return {begin(index), begin(index + 1) - begin(index)};
}

std::int64_t doubling_rounds(std::int64_t members) {
  const auto n = static_cast<std::uint64_t>(members);
  return static_cast<std::int64_t>(std::bit_width(n)) - 1 + (std::has_single_bit(n) ? 0 : 2);
}

Pattern pattern_of(CollectiveKind kind, std::int64_t members, Bytes bytes) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return members > 1 && static_cast<double>(bytes.value) <= doubling_limit(members)
                 ? Pattern::kRecursiveDoubling
                 : Pattern::kRing;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter: return Pattern::kRing;
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kShift:
    case CollectiveKind::kPush:
    case CollectiveKind::kPull: return Pattern::kDirect;
    case CollectiveKind::kBroadcast: return Pattern::kBinomial;
  }
  return Pattern::kRing;
}

std::vector<Round> rounds_of(const Arrangement& arrangement, CollectiveKind kind,
                             std::int64_t members, std::int64_t index, std::int64_t elements) {
  Rounds rounds = all_rounds(arrangement, kind, members, index, elements);
  for (Round& r : rounds) {
    std::erase_if(r, [](const Transfer& t) { return t.range.elements == 0; });
  }
  std::erase_if(rounds, [](const Round& r) { return r.empty(); });
  return rounds;
}

}  // namespace plait
