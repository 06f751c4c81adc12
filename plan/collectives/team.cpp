#include "plan/collectives/team.h"

#include <algorithm>

#include "core/error.h"

namespace plait {

Range part_of(Range range, std::int64_t parts, std::int64_t index) {
  const Range part = share_of(range.elements, parts, index);
  return {range.first + part.first, part.elements};
}

Shares parts_of(Range range, std::int64_t parts) {
  return [=](std::int64_t index) { return Pieces{part_of(range, parts, index)}; };
}

void append(Pieces& block, const Pieces& more) {
  for (const Range& r : more) {
    const bool continues = !block.empty() && block.back().first + block.back().elements == r.first;
    if (continues) {
      block.back().elements += r.elements;
    } else {
      block.push_back(r);
    }
  }
}

Pieces moved(Pieces block, std::int64_t by) {
  for (Range& r : block) r.first += by;
  return block;
}

void send(Round& round, std::int64_t to, const Pieces& block) {
  for (const Range& r : block) round.push_back({Direction::kSend, to, r, false});
}

void receive(Round& round, std::int64_t from, const Pieces& block, bool combine) {
  for (const Range& r : block) round.push_back({Direction::kReceive, from, r, combine});
}

Rounds reversed(const Rounds& rounds) {
  Rounds out(rounds.rbegin(), rounds.rend());
  for (Round& round : out) {
    std::ranges::reverse(round);
    for (Transfer& t : round) {
      const bool sent = t.direction == Direction::kSend;
      t.direction = sent ? Direction::kReceive : Direction::kSend;
      t.combine = sent && t.peer != kSwitch;
    }
  }
  return out;
}

Rounds then(Rounds first, const Rounds& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Rounds beside(Rounds one, const Rounds& other) {
  one.resize(std::max(one.size(), other.size()));
  for (std::size_t k = 0; k < other.size(); ++k) {
    one[k].insert(one[k].end(), other[k].begin(), other[k].end());
  }
  return one;
}

Rounds from_gather(CollectiveKind kind, const Rounds& gather) {
  switch (kind) {
    case CollectiveKind::kAllGather: return gather;
    case CollectiveKind::kReduceScatter: return reversed(gather);
    case CollectiveKind::kAllReduce: return then(reversed(gather), gather);
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kShift:
    case CollectiveKind::kPush:
    case CollectiveKind::kPull:
    case CollectiveKind::kBroadcast: break;
  }
  PLAIT_CHECK(false, "a collective that is no gather");
  return {};
}

}  // namespace plait
