#include "plan/collectives/rounds.h"

#include <bit>

#include "core/error.h"
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
///   recursive doubling   L a + L S b + L S c           L = floor(log2 n), + 2 where n is no power
///                                                      of two
///   ring                 2 (n - 1) a + 2 (n - 1) / n S b + (n - 1) / n S c
double doubling_limit(std::int64_t members) {
  const auto n = static_cast<std::uint64_t>(members);
  const double doublings =
      static_cast<double>(std::bit_width(n) - 1 + (std::has_single_bit(n) ? 0 : 2));
  const double hops = static_cast<double>(members - 1);
  const double share = hops / static_cast<double>(members);
  const double more_starts = 2 * hops - doublings;
  const double more_bytes = doublings * (1 + kCombineShare) - share * (2 + kCombineShare);
  return kStartBytes * more_starts / more_bytes;
}

bool knows(Pattern pattern, CollectiveKind kind) {
  switch (pattern) {
    case Pattern::kRing:
      return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kAllGather ||
             kind == CollectiveKind::kReduceScatter;
    case Pattern::kRecursiveDoubling: return kind == CollectiveKind::kAllReduce;
    case Pattern::kDirect: return kind == CollectiveKind::kAllToAll;
    case Pattern::kBinomial: return kind == CollectiveKind::kBroadcast;
  }
  return false;
}

std::vector<Round> raw_rounds(Pattern pattern, CollectiveKind kind, std::int64_t members,
                              std::int64_t index, std::int64_t elements) {
  switch (pattern) {
    case Pattern::kRing: return ring(kind, members, index, elements);
    case Pattern::kRecursiveDoubling: return recursive_doubling(members, index, elements);
    case Pattern::kDirect: return direct(members, index, elements);
    case Pattern::kBinomial: return binomial(members, index, elements);
  }
  return {};
}

}  // namespace

std::string_view name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::kRing: return "ring";
    case Pattern::kRecursiveDoubling: return "recursive_doubling";
    case Pattern::kDirect: return "direct";
    case Pattern::kBinomial: return "binomial";
  }
  return "";
}

Range share_of(std::int64_t elements, std::int64_t members, std::int64_t index) {
  // floor(elements p / n) without the large product: elements = q n + r.
  const std::int64_t q = elements / members, r = elements % members;
  const auto begin = [&](std::int64_t p) { return q * p + r * p / members; };
  return {begin(index), begin(index + 1) - begin(index)};
}

Pattern pattern_of(CollectiveKind kind, std::int64_t members, Bytes bytes) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return members > 1 && static_cast<double>(bytes.value) <= doubling_limit(members)
                 ? Pattern::kRecursiveDoubling
                 : Pattern::kRing;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter: return Pattern::kRing;
    case CollectiveKind::kAllToAll: return Pattern::kDirect;
    case CollectiveKind::kBroadcast: return Pattern::kBinomial;
  }
  return Pattern::kRing;
}

std::vector<Round> rounds_of(const Arrangement& arrangement, CollectiveKind kind,
                             std::int64_t members, std::int64_t index, std::int64_t elements) {
  PLAIT_CHECK(knows(arrangement.pattern, kind), "a collective in a pattern that does not know it");
  PLAIT_CHECK(index >= 0 && index < members && elements >= 0, "a member outside of its group");
  if (members == 1) return {};
  std::vector<Round> rounds = raw_rounds(arrangement.pattern, kind, members, index, elements);
  for (Round& r : rounds) {
    std::erase_if(r, [](const Transfer& t) { return t.range.elements == 0; });
  }
  std::erase_if(rounds, [](const Round& r) { return r.empty(); });
  return rounds;
}

}  // namespace plait
