#pragma once
// What a layout costs at least, by arithmetic on tables, in much less than a microsecond: no
// simulation of it is faster, no exact account of its memory smaller. Both are proven by tests
// against simulations of random layouts; docs/models/search.md derives them.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/time.h"
#include "plan/framework_memory.h"
#include "scenarios/scenario.h"
#include "search/passes.h"
#include "search/shapes.h"
#include "search/sharers.h"
#include "search/tuple_hash.h"

namespace plait {

/// The memory of the largest device.
Bytes most_memory(const Cluster& cluster);

/// The layout of those of its layers that are not recomputed.
inline Layout plain(Layout l) {
  if (l.recompute_layers >= 0) l.recompute = Recompute::kNone;
  return l;
}

/// Looks up what neighbours mostly have in common: of one table, on one thread, between two changes
/// of it.
template <class Table>
class LastFound {
 public:
  const typename Table::mapped_type* find(const Table& table, const typename Table::key_type& key) {
    if (found_ != nullptr && key_ == key) return found_;
    const auto at = table.find(key);
    key_ = key, found_ = at == table.end() ? nullptr : &at->second;
    return found_;
  }
  const typename Table::mapped_type& in(const Table& table, const typename Table::key_type& key) {
    const auto* found = find(table, key);
    PLAIT_CHECK(found != nullptr, "a bound of a layout that was not prepared");
    return *found;
  }

 private:
  typename Table::key_type key_ = {};
  const typename Table::mapped_type* found_ = nullptr;
};

class Bounds {
  using CutKey = std::tuple<std::int32_t, std::int32_t, std::int32_t, bool, Recompute>;
  using ShardKey =
      std::tuple<std::int32_t, std::int32_t, std::int32_t, bool, Recompute, std::int32_t>;
  using ExchangeKey = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                                 std::int32_t, std::uint8_t>;
  /// From one stage to the next in devices, stages, bytes.
  using MessageKey = std::tuple<std::int64_t, std::int32_t, std::int64_t>;
  template <class Key, class Value>
  using Table = std::unordered_map<Key, Value, TupleHash>;
  /// By the size of microbatches: those that were planned.
  using Shards = Table<CutKey, std::map<std::int32_t, std::optional<ShardCosts>>>;
  using SplitTimes = Table<ShardKey, std::optional<ShardTimesByKind>>;
  using Exchanges = Table<ExchangeKey, UnitExchange>;
  using Messages = Table<MessageKey, StageMessages>;

 public:
  Bounds(const Scenario& scenario, const CostModel& costs);

  using Numbers = std::span<const std::uint32_t>;  // some of the layouts

  /// Works out on `threads` threads what the bounds of the memory of layouts[numbers[i]] need.
  /// Neighbours that are alike are worked out once. Larger microbatches never take less memory:
  /// where smaller ones have no room on any device, their sizes bound those of larger ones too.
  void prepare_memory(std::span<const Layout> layouts, Numbers numbers, int threads);
  /// And what those of their time need, whose memory is prepared.
  void prepare_time(std::span<const Layout> layouts, Numbers numbers, int threads);

  /// What a thread found last in the tables, and worked out of shapes: the next layouts mostly need
  /// the same. For use until the next call of a function above.
  struct Recent;
  /// No device has more.
  Bytes most_memory() const { return most_memory_; }
  /// Of a layout that was prepared; nothing where it cannot be planned. From any thread. Of one
  /// that is too large for any device, enough to tell.
  std::optional<Bytes> memory(const Layout& layout, Recent& recent) const;
  std::optional<SimTime> step(const Layout& layout, Recent& recent) const;
  /// A closer bound of the step time, of a layout that has one. From any thread.
  SimTime closer(const Layout& layout) const;

 private:
  static CutKey cut_key(const Layout& l);
  static ShardKey shard_key(const Layout& l);  // with its microbatch
  bool too_large(const Layout& l, Recent& recent) const;
  /// Prepares the memory of layouts whose microbatches are equally large.
  void plan_alike(std::span<const Layout> layouts, std::span<const Numbers> alike, int threads);
  /// Of the largest microbatch up to the layout's that was planned; null where none was.
  const std::optional<ShardCosts>* shard(const Layout& l, LastFound<Shards>& recent) const;
  bool is_planned(const Layout& l, LastFound<Shards>& recent) const;
  /// The tables of one key.
  const ShardTimesByKind* times(const Layout& l, LastFound<Shards>& whole,
                                LastFound<SplitTimes>& split) const;
  static ExchangeKey exchange_key(const Layout& l);
  MessageKey message_key(const Layout& l, const ShardSizes& sizes) const;
  std::optional<PlannedSizes> sizes(const Layout& l, Recent& recent) const;
  /// On nodes of that kind, or on any. Nothing where the layout cannot be planned.
  std::optional<PassCosts> pass_costs(const Layout& l, const Pieces& pieces,
                                      std::optional<std::size_t> kind, Recent& recent) const;
  PipelineCosts costs(const Layout& l, const PassCosts& passes, Recent& recent) const;
  std::int64_t microbatches_of_replica(const Layout& l) const;
  std::int64_t microbatches(const Layout& l) const;  // that a piece sees
  bool pairs(const Layout& l) const;                 // some of its passes take turns
  bool sums_whole(const Layout& l) const;            // Strategy::sums_whole_gradients
  bool writes(const Layout& l) const;                // gradients of layers, which others add up
  SimTime slowest_stage(const Layout& l, const Pieces& pieces, Recent& recent) const;
  UnitExchange exchange(const Layout& l, const ShardSizes& sizes);
  /// `tied`: another stage may have a copy of it.
  UnitCosts unit(const PlacedSharers& on, const ShardSizes& sizes, std::int64_t parameters,
                 DType gathered, bool tied = false);
  SimTime least(const Adam& adam) const;
  /// What a collective takes at least and kernels beside it lose, and the most of a device that it
  /// holds.
  struct Priced {
    SimTime takes = 0, slows = 0;
    double held = 0;
  };
  void add_gather_of_frozen(const PlacedSharers& on, Bytes frozen,
                            UnitCosts& out);  // of zero_stage 3
  Priced priced(CollectiveKind kind, DType dtype, std::int64_t elements, const Lattice& group);
  Priced priced(CollectiveKind kind, DType dtype, std::int64_t elements, const Lattice& group,
                const CostModel& costs);
  /// Seconds of the data-parallel reduction of whole gradients.
  double reduction_of_an_element(const PlacedSharers& on, const ShardSizes& sizes, bool tied);
  double of_an_element(CollectiveKind kind, DType dtype, std::int64_t most, const Lattice& group);
  double held(const Collective& c, const GroupPlacement& group, Algorithm algorithm) const;
  StageMessages priced_messages(MessageKey key);
  SimTime step(const PipelineCosts& stages, std::span<const StagePasses> of_stages) const;
  std::int64_t most_in_a_row(const PipelineCosts& stages) const;
  std::int64_t in_a_row(const PipelineCosts& stages, std::int64_t stage,
                        const std::vector<Task>& tasks) const;
  SimTime gathers(const PipelineCosts& stages, const Parts& parts, SimTime UnitCosts::*what,
                  std::int64_t not_anew) const;
  SimTime gathers_and_reductions(const PipelineCosts& stages, const Parts& parts,
                                 std::int64_t not_anew) const;
  SimTime slowed_passes(const PipelineCosts& stages, const StagePasses& passes,
                        std::int64_t not_anew) const;
  SimTime regathered(const PipelineCosts& stages, const Schedules::Tasks& tasks) const;
  MemoryOfShape::OfStage memory_of_stage(std::int64_t stage, const Layout& l,
                                         const MemoryOfShape& shape) const;
  Bytes memory(const Layout& l, MemoryOfShape& shape) const;

  const Scenario& scenario_;
  const CostModel& costs_;
  CostModel fastest_;  // the same, which takes the fastest collective where NCCL takes its choice
  LayerKinds kinds_;
  RankOrder order_;
  Groups groups_;
  Bytes most_memory_;
  Shards shards_;
  SplitTimes split_times_;
  Exchanges exchanges_;
  Messages messages_;
  mutable Schedules schedules_;
};

struct Bounds::Recent {
  LastFound<Shards> again, kept, planned;
  LastFound<SplitTimes> split_again, split_kept;
  LastFound<Exchanges> exchange;
  LastFound<Messages> message;
  LastShape<MemoryOfShape> memory;
  LastShape<PassesOfShape> writing, adding;  // gradients
};

}  // namespace plait
