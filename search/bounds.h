#pragma once
// What a layout costs at least, by arithmetic on tables, in much less than a microsecond: no
// simulation of it is faster, no exact account of its memory smaller. Both are proven by tests
// against simulations of random layouts; docs/models/search.md derives them.

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/time.h"
#include "plan/framework_memory.h"
#include "scenarios/scenario.h"
#include "search/passes.h"
#include "search/sharers.h"

namespace plait {

/// Step time and memory of the fullest rank, at least. Where that is more than any device has, the
/// time is not worked out: 0.
struct LowerBound {
  SimTime step = 0;
  Bytes memory;
};

/// The memory of the largest device.
Bytes most_memory(const Cluster& cluster);

/// Of a tuple of numbers.
struct TupleHash {
  template <class... T>
  std::size_t operator()(const std::tuple<T...>& key) const {
    std::uint64_t h = 0;
    const auto add = [&h](auto part) {
      h = (h ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15ULL;
      h ^= h >> 32;
    };
    std::apply([&](const auto&... part) { (add(part), ...); }, key);
    return h;
  }
};

class Bounds {
 public:
  Bounds(const Scenario& scenario, const CostModel& costs);

  /// Works out on `threads` threads what the bounds of layouts[numbers[i]] need. Neighbours that
  /// are alike are worked out once.
  void prepare(std::span<const Layout> layouts, std::span<const std::uint32_t> numbers,
               int threads);
  /// Of all of them.
  void prepare(std::span<const Layout> layouts, int threads);
  /// Of a layout that was prepared; nothing where it cannot be planned. From any thread.
  std::optional<LowerBound> operator()(const Layout& layout) const;
  /// A closer bound of the step time, of a layout that has one. From any thread.
  SimTime closer(const Layout& layout) const;

 private:
  using ShardKey =
      std::tuple<std::int32_t, std::int32_t, std::int32_t, bool, Recompute, std::int32_t, bool>;
  using ExchangeKey =
      std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int8_t>;
  using MessageKey = std::tuple<std::int64_t, std::int64_t>;  // distance in ranks, bytes
  template <class Key, class Value>
  using Table = std::unordered_map<Key, Value, TupleHash>;

  static ShardKey shard_key(const Layout& l);
  /// The layout of those of its layers that are not recomputed.
  static Layout plain(Layout l);
  const ShardCosts* find(const Layout& l, std::optional<std::size_t> kind = {}) const;
  static const ShardCosts& choose(const ShardCostsOfBoth& both, const Layout& l) {
    return both[adds_gradients(l.zero_stage) ? 1 : 0];
  }
  static ExchangeKey exchange_key(const Layout& l);
  MessageKey message_key(const Layout& l, const ShardCosts& costs) const;
  /// Nothing where the layout cannot be planned.
  std::optional<PipelineCosts> stages(const Layout& l, std::optional<std::size_t> kind = {}) const;
  SimTime slowest_stage(const Layout& l) const;
  UnitCosts unit(const Sharers& on, const ShardCosts& costs, std::int64_t parameters);
  SimTime priced(CollectiveKind kind, DType dtype, std::int64_t elements, std::int64_t size,
                 std::int64_t stride);
  SimTime priced_message(MessageKey key);
  SimTime step(const PipelineCosts& stages) const;
  Bytes memory(const PipelineCosts& stages) const;

  const Scenario& scenario_;
  const CostModel& costs_;
  Bytes most_memory_;
  LayerKinds kinds_;
  Groups groups_;
  Table<ShardKey, std::optional<ShardCostsByKind>> shards_;
  Table<ExchangeKey, UnitExchange> exchanges_;
  Table<MessageKey, SimTime> messages_;
  mutable Schedules schedules_;
};

}  // namespace plait
