#pragma once
// A priority queue of times that never go back (Ahuja, Mehlhorn, Orlin and Tarjan 1990, section 3):
// an entry lies in the bucket of the highest bit in which its time differs from that of the entries
// last taken out, and only ever moves to lower buckets.

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "core/time.h"

namespace plait {

template <class Value>
class RadixHeap {
 public:
  static constexpr SimTime kEmpty = std::numeric_limits<SimTime>::max();

  /// `time` is not earlier than the entries last taken out.
  void push(SimTime time, const Value& value) {
    Bucket& b = buckets_[bucket_of(time)];
    b.entries.push_back({time, value});
    b.earliest = std::min(b.earliest, time);
  }
  /// An entry of this time is not valid any more: `live` (below) says so.
  void forget(SimTime time) {
    Bucket& b = buckets_[bucket_of(time)];
    b.stale |= time == b.earliest;
  }
  /// Time of the earliest entries, kEmpty without any; leaves out those that are not live(value).
  template <class Live>
  SimTime earliest(Live live) {
    for (Bucket& b : buckets_) {
      if (b.stale) b.prune(live);
      if (!b.entries.empty()) return b.earliest;
    }
    return kEmpty;
  }
  /// No live entry is earlier than `now`, and none will be pushed: what comes soon then lies in
  /// small buckets.
  template <class Live>
  void advance(SimTime now, Live live) {
    const std::size_t b = bucket_of(now);
    if (b == 0) return;
    for (std::size_t below = 0; below < b; ++below) buckets_[below].clear();
    last_ = now;
    spread(b, live);
  }
  /// Takes out the entries of the earliest time and appends them.
  void take_earliest(std::vector<Value>& out) {
    if (buckets_[0].entries.empty()) refill();
    for (const Entry& e : buckets_[0].entries) out.push_back(e.value);
    buckets_[0].clear();
  }

 private:
  struct Entry {
    SimTime time;
    Value value;
  };
  struct Bucket {
    std::vector<Entry> entries;
    SimTime earliest = kEmpty;
    bool stale = false;  // the earliest may not be live
    void clear() { entries.clear(), earliest = kEmpty, stale = false; }
    template <class Live>
    void prune(Live live) {
      std::erase_if(entries, [&](const Entry& e) { return !live(e.value); });
      earliest = kEmpty;
      for (const Entry& e : entries) earliest = std::min(earliest, e.time);
      stale = false;
    }
  };
  std::size_t bucket_of(SimTime time) const {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(time ^ last_)));
  }
  void refill() {
    const auto first =
        std::ranges::find_if(buckets_, [](const Bucket& b) { return !b.entries.empty(); });
    if (first == buckets_.end()) return;
    last_ = first->earliest;
    spread(static_cast<std::size_t>(first - buckets_.begin()), [](const Value&) { return true; });
  }
  /// The entries of a bucket that `last_` has moved into go to lower ones.
  template <class Live>
  void spread(std::size_t bucket, Live live) {
    Bucket& from = buckets_[bucket];
    for (const Entry& e : from.entries) {
      if (live(e.value)) push(e.time, e.value);
    }
    from.clear();
  }

  std::array<Bucket, 65> buckets_;
  SimTime last_ = 0;
};

}  // namespace plait
