#pragma once
// Live memory of a program, from the plan alone. A tensor member is allocated when the first op
// that writes it is issued and freed after the last op that reads it before the next full write is
// issued (issue order, as a caching allocator accounts it); persistent tensors are always there.
// Exact, and independent of time: real runs allocate the same bytes.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "plan/plan.h"

namespace plait {

inline constexpr int kTensorClasses = 6;
using BytesByClass = std::array<Bytes, kTensorClasses>;

/// A member's time in memory: while ops first .. last of the program (flat indices) are issued.
struct Stay {
  TensorId tensor = 0;
  std::int32_t layer = 0, microbatch = 0;  // 0 where the scope has none
  std::int64_t first = 0, last = 0;
};

/// All stays of a rank of `stage` with that role in that place, in the order in which they begin to
/// be issued. What lives within a call has a stay for each call.
std::vector<Stay> stays(const Plan& plan, std::size_t stage, Place place = Place::kDevice,
                        Role role = {});

/// Members of one tensor family that are live at the peak.
struct LiveTensor {
  TensorId tensor = 0;
  std::int64_t count = 0;
  Bytes bytes;  // of all of them
};

struct MemoryPoint {
  std::int64_t op = 0;  // flat op index: the state while this op runs
  BytesByClass live;
  Bytes beside = {};  // what is there and no tensor of the plan
};

/// What is there and no tensor of the plan.
struct BesideTensors {
  std::function<Bytes(const Op&)> of_op = {};  // while it runs; empty: nothing
  std::vector<double> of_tensor = {};          // bytes for each byte of it, as long; empty: none
};

struct StageMemory {
  Bytes peak;                // memory of live tensors
  Bytes beside;              // what the peak's op has beside them
  std::int64_t peak_op = 0;  // flat op index
  BlockId peak_block = 0;    // and where that op is in the plan
  std::size_t peak_at = 0;
  BytesByClass by_class;            // at the peak
  std::vector<LiveTensor> at_peak;  // largest first
  std::vector<MemoryPoint> curve;   // filled when asked for: one point per change
};

struct BlockTouches;

/// The memory of one stage after another: what blocks do to it is looked up once. What lives within
/// a call is the same in every call of a block. The plan outlives it.
class LiveMemory {
 public:
  explicit LiveMemory(const Plan& plan, Place place = Place::kDevice, Role role = {});
  /// The peak is where tensors and what is `beside` them are the most.
  LiveMemory(const Plan& plan, Role role, const BesideTensors& beside);
  /// Of the tensors whose turn it is in `counted`, by tensor.
  LiveMemory(const Plan& plan, Place place, Role role, const std::vector<bool>& counted,
             const BesideTensors& beside = {});
  ~LiveMemory();
  LiveMemory(const LiveMemory&) = delete;
  LiveMemory& operator=(const LiveMemory&) = delete;

  /// As `stays` and `live_memory`.
  std::vector<Stay> stays(std::size_t stage) const;
  StageMemory of(std::size_t stage, bool curve = false) const;
  /// Had its program so many microbatches more in the middle that repeats. Requires is_extensible
  /// (plan/repeats.h) where they are more than none.
  StageMemory of_longer(std::size_t stage, std::int64_t microbatches) const;

 private:
  class StageWalk;
  /// Bytes of a member by tensor; and with what is beside it as long.
  struct TensorBytes {
    std::vector<std::int64_t> own, filled;
  };
  void draw(std::size_t stage, StageMemory& out) const;
  /// What each op of the program has beside tensors.
  std::vector<Bytes> beside_ops(std::size_t stage) const;
  const TensorBytes& bytes_on(std::size_t stage) const;

  const Plan& plan_;
  std::map<std::int64_t, TensorBytes> bytes_;  // by stages' degree of tp
  std::vector<BlockTouches> blocks_;
};

/// Live memory of every rank of `stage` with that role, on its device or in another place. O(calls
/// x operands per block).
StageMemory live_memory(const Plan& plan, std::size_t stage, bool curve = false,
                        Place place = Place::kDevice, Role role = {});

}  // namespace plait
