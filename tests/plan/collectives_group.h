#pragma once
// A group of members that executes the rounds of a collective on data, and arrangements to try.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/collectives/rounds.h"

namespace plait {

using Elements = std::vector<float>;

struct ArrangementCase {
  CollectiveKind kind;
  Arrangement arrangement;
};

inline std::string label(const ArrangementCase& c) {
  const Arrangement& a = c.arrangement;
  std::string out = std::string(name_of(c.kind)) + "_" + std::string(name_of(a.pattern));
  if (a.pattern == Pattern::kHierarchical) {
    out += "_" + std::string(name_of(a.within)) + "_" + std::string(name_of(a.between));
  }
  out += "_g" + std::to_string(a.members_per_node) + "_c" + std::to_string(a.channels);
  if (a.chunks != Arrangement().chunks) out += "_k" + std::to_string(a.chunks);
  if (a.most_shares != 0) out += "_b" + std::to_string(a.most_shares);
  return out;
}

inline constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                            CollectiveKind::kReduceScatter,
                                            CollectiveKind::kAllToAll, CollectiveKind::kBroadcast};

/// Every pattern for every kind that it knows, laid out in several ways.
inline std::vector<ArrangementCase> cases() {
  using enum Pattern;
  std::vector<Arrangement> all;
  for (Pattern p : {kRing, kTree, kHalvingDoubling, kRecursiveDoubling, kOneShot, kDirect,
                    kPairwise, kBinomial, kPat, kNvls, kHierarchical}) {
    all.push_back({.pattern = p});
    all.push_back({.pattern = p, .channels = 3});
  }
  for (Pattern p : {kRing, kTree}) {
    all.push_back({.pattern = p, .chunks = 1});
    all.push_back({.pattern = p, .members_per_node = 2, .channels = 3, .chunks = 4});
    all.push_back({.pattern = p, .members_per_node = 4, .channels = 4});
  }
  for (std::int64_t most : {1, 2, 3, 4}) all.push_back({.pattern = kPat, .most_shares = most});
  for (Pattern within : {kDirect, kRing, kHalvingDoubling, kNvls, kPat}) {
    for (Pattern between : {kRing, kTree, kHalvingDoubling, kRecursiveDoubling, kPat}) {
      const std::int64_t g = within == kRing ? 3 : within == kPat ? 2 : 4;
      all.push_back({.pattern = kHierarchical,
                     .members_per_node = g,
                     .channels = between == kTree ? 2 : 1,
                     .within = within,
                     .between = between});
    }
  }
  std::vector<ArrangementCase> out;
  for (const Arrangement& a : all) {
    for (CollectiveKind kind : kKinds) {
      if (!knows(a.pattern, kind)) continue;
      const bool halves = a.pattern == kHierarchical && kind != CollectiveKind::kAllToAll;
      const bool reduces = kind == CollectiveKind::kAllReduce;
      const CollectiveKind inner = reduces ? CollectiveKind::kAllGather : kind;
      if (halves && !(knows(a.within, inner) && knows(a.between, kind))) continue;
      if (a.pattern == kHierarchical && !halves && a.between != kRing) continue;
      out.push_back({kind, a});
    }
  }
  return out;
}

/// What all members of a group do, and what became of their buffers. Sends wait for their receive,
/// as they may on a real transport.
class Group {
 public:
  Group(const ArrangementCase& c, std::int64_t members, std::int64_t elements)
      : n(members),
        elements_(elements),
        all_to_all_(c.kind == CollectiveKind::kAllToAll),
        per_switch_(c.arrangement.pattern == Pattern::kHierarchical ? c.arrangement.members_per_node
                                                                    : members) {
    for (std::int64_t i = 0; i < members; ++i) {
      rounds.push_back(rounds_of(c.arrangement, c.kind, members, i, elements));
    }
  }

  /// Executes the rounds; `input[i]` is member i's buffer. Of an all_to_all, the output.
  std::vector<Elements> run(const std::vector<Elements>& input) {
    buffers_ = input;
    at_.assign(rounds.size(), {});
    switches_.clear();
    for (Elements& b : buffers_) b.resize(b.size() * (all_to_all_ ? 3 : 1), -1.0F);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < rounds.size(); ++i) moved = advance(i) || moved;
    }
    for (std::size_t i = 0; i < rounds.size(); ++i) EXPECT_EQ(at_[i].round, rounds[i].size());
    for (const auto& [pair, queue] : wire_) EXPECT_TRUE(queue.empty());
    if (!all_to_all_) return buffers_;
    std::vector<Elements> output;
    for (const Elements& b : buffers_) {
      output.emplace_back(b.begin() + elements_, b.begin() + 2 * elements_);
    }
    return output;
  }

  std::int64_t moved(std::size_t member, Direction direction) const {
    std::int64_t sum = 0;
    for (const Round& r : rounds[member]) {
      for (const Transfer& t : r) sum += t.direction == direction ? t.range.elements : 0;
    }
    return sum;
  }
  std::int64_t sent(std::size_t member) const { return moved(member, Direction::kSend); }
  std::int64_t sent_by_all() const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < rounds.size(); ++i) sum += sent(i);
    return sum;
  }

  std::int64_t n;
  std::vector<std::vector<Round>> rounds;  // per member

 private:
  struct Place {
    std::size_t round = 0;
    bool begun = false;
    std::vector<bool> done;
    std::size_t switched = 0;  // rounds with the switch that have begun
  };
  struct Message {
    Elements values;
    std::size_t transfer = 0;  // of the sender's round
  };
  struct Switched {  // a round of a switch
    std::int64_t arrived = 0;
    std::vector<std::pair<Range, Elements>> sent;
  };

  bool advance(std::size_t i) {
    Place& at = at_[i];
    if (at.round == rounds[i].size()) return false;
    const Round& round = rounds[i][at.round];
    bool moved = !at.begun;
    if (!at.begun) begin(i, round);
    for (std::size_t k = 0; k < round.size(); ++k) {
      if (at.done[k]) continue;
      at.done[k] = round[k].peer == kSwitch                    ? through_switch(i, round[k])
                   : round[k].direction == Direction::kReceive ? receive(i, round[k])
                                                               : false;
      moved = moved || at.done[k];
    }
    if (std::ranges::count(at.done, false) > 0) return moved;
    at = {at.round + 1, false, {}, at.switched};
    return true;
  }
  Switched& switched(std::size_t i) {
    return switches_[{static_cast<std::int64_t>(i) / per_switch_, at_[i].switched}];
  }
  void begin(std::size_t i, const Round& round) {
    at_[i].begun = true;
    at_[i].done.assign(round.size(), false);
    const bool with_switch =
        std::ranges::any_of(round, [](const Transfer& t) { return t.peer == kSwitch; });
    if (with_switch) ++at_[i].switched, ++switched(i).arrived;
    for (std::size_t k = 0; k < round.size(); ++k) {
      const Transfer& t = round[k];
      ASSERT_GT(t.range.elements, 0);
      ASSERT_GE(t.range.first, 0);
      ASSERT_LE(t.range.first + t.range.elements, static_cast<std::int64_t>(buffers_[i].size()));
      if (t.direction == Direction::kReceive) continue;
      const auto first = buffers_[i].begin() + t.range.first;
      const Elements values(first, first + t.range.elements);
      if (t.peer == kSwitch) {
        switched(i).sent.emplace_back(t.range, values);
      } else {
        wire_[{static_cast<std::int64_t>(i), t.peer}].push_back({values, k});
      }
    }
  }
  bool receive(std::size_t i, const Transfer& t) {
    std::deque<Message>& queue = wire_[{t.peer, static_cast<std::int64_t>(i)}];
    if (queue.empty()) return false;
    const Message& message = queue.front();
    EXPECT_EQ(message.values.size(), static_cast<std::size_t>(t.range.elements));
    for (std::size_t k = 0; k < message.values.size(); ++k) {
      float& to = buffers_[i][static_cast<std::size_t>(t.range.first) + k];
      to = t.combine ? to + message.values[k] : message.values[k];
    }
    at_[static_cast<std::size_t>(t.peer)].done[message.transfer] = true;
    queue.pop_front();
    return true;
  }
  bool through_switch(std::size_t i, const Transfer& t) {
    const Switched& s = switched(i);
    if (s.arrived < per_switch_) return false;
    if (t.direction == Direction::kSend) return true;
    EXPECT_FALSE(t.combine);
    for (std::int64_t k = t.range.first; k < t.range.first + t.range.elements; ++k) {
      float sum = 0;
      bool any = false;
      for (const auto& [range, values] : s.sent) {
        if (k < range.first || k >= range.first + range.elements) continue;
        sum += values[static_cast<std::size_t>(k - range.first)];
        any = true;
      }
      EXPECT_TRUE(any);
      buffers_[i][static_cast<std::size_t>(k)] = sum;
    }
    return true;
  }

  std::int64_t elements_;
  bool all_to_all_;
  std::int64_t per_switch_;  // members
  std::vector<Elements> buffers_;
  std::vector<Place> at_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::deque<Message>> wire_;
  std::map<std::pair<std::int64_t, std::size_t>, Switched> switches_;
};

/// Member i's element k: small integers, whose sums are exact in any order.
inline std::vector<Elements> integers(std::int64_t members, std::int64_t elements) {
  std::vector<Elements> out;
  for (std::int64_t i = 0; i < members; ++i) {
    out.emplace_back();
    for (std::int64_t k = 0; k < elements; ++k) {
      out.back().push_back(static_cast<float>(100 * i + k % 97));
    }
  }
  return out;
}

/// Calls f(members, elements) for groups of full nodes of up to 17 members and some larger, and
/// one, few, odd and many elements.
template <class F>
void for_each_size(const ArrangementCase& c, F&& f) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t n = 1; n <= 17; ++n) sizes.push_back(n);
  for (std::int64_t n : {24, 27, 36}) sizes.push_back(n);
  for (std::int64_t n : sizes) {
    if (n % c.arrangement.members_per_node != 0) continue;
    std::vector<std::int64_t> counts{1, n - 1, 2 * n + 1, 101};
    if (n > 17) counts = {n - 1, 5 * n + 3};
    for (std::int64_t elements : counts) {
      if (c.kind == CollectiveKind::kAllToAll) elements -= elements % n;
      SCOPED_TRACE("members " + std::to_string(n) + ", elements " + std::to_string(elements));
      f(n, elements);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace plait
