#pragma once
// The memory of one rank of a real run. A tensor member's buffer appears when an op that touches it
// is first issued and goes after the last op that needs it is issued, exactly as plan/memory.h
// accounts: `peak` is what was held so, in the plan's element sizes. Ops that are still at work
// (a reduction on its way, say) keep the memory of their operands until they end. Numbers are of
// type T whatever their element type in the plan, token ids are int64, dropout masks bytes.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "plan/memory.h"
#include "plan/plan.h"

namespace plait {

/// An op's operands in memory, in their order; keeps them there.
class Operands {
 public:
  /// Where the elements of operand `i` begin.
  template <class E>
  E* at(std::size_t i) const {
    const Place& p = places_.at(i);
    return reinterpret_cast<E*>(p.buffer.get()) + p.offset;
  }
  /// The next operand: its elements begin at element `offset` of `buffer`.
  void add(std::shared_ptr<std::byte[]> buffer, std::int64_t offset) {
    places_.push_back({std::move(buffer), offset});
  }

 private:
  struct Place {
    std::shared_ptr<std::byte[]> buffer;
    std::int64_t offset = 0;  // elements
  };
  std::vector<Place> places_;
};

/// Lets this process keep the memory that it has freed for the next step: large buffers would be
/// given back to the system each time and come back as pages to be zeroed (glibc's malloc).
void keep_freed_memory();

/// What memory holds that nothing has been written to: what was there before, or not-a-number, so
/// that a read of it shows.
enum class Fresh : std::uint8_t { kAnything, kNaN };
#ifdef NDEBUG
inline constexpr Fresh kFresh = Fresh::kAnything;
#else
inline constexpr Fresh kFresh = Fresh::kNaN;
#endif

/// Used by one thread: the one that issues ops.
template <class T>
class Buffers {
 public:
  Buffers(const Plan& plan, std::size_t stage, Fresh fresh = kFresh, Role role = {});

  /// The operands of `op` in `call`; persistent ones that were not there are zero, those that the
  /// rank does not hold are null.
  Operands operands(const Op& op, const Call& call);
  /// The member's bytes; zero when fresh and persistent. Layer and microbatch are ignored where the
  /// scope has none.
  std::byte* member(TensorId root, std::int32_t layer, std::int32_t microbatch) {
    return held(root, layer, microbatch).get();
  }
  bool holds(TensorId root, std::int32_t layer, std::int32_t microbatch) const;
  /// Lets go of what op `flat` was the last to need.
  void release_after(std::int64_t flat);
  Bytes peak(Place place = Place::kDevice) const { return peak_[of(place)]; }
  /// The same with what ops at work still keep: depends on timing.
  Bytes in_flight_peak() const { return Bytes(allocated_->peak); }

 private:
  /// Bytes in the plan's element sizes that have not been given back.
  struct Allocated {
    std::atomic<std::int64_t> now = 0;
    std::int64_t peak = 0;
  };
  std::shared_ptr<std::byte[]> fresh(const Tensor& tensor);
  using Key = std::tuple<TensorId, std::int32_t, std::int32_t>;
  Key key(TensorId root, std::int32_t layer, std::int32_t microbatch) const;
  const std::shared_ptr<std::byte[]>& held(TensorId root, std::int32_t layer,
                                           std::int32_t microbatch);

  static constexpr std::array kPlaces = {Place::kDevice, Place::kHost, Place::kStorage};
  static std::size_t of(Place place) { return static_cast<std::size_t>(place); }

  const Plan& plan_;
  Fresh fresh_;
  Role role_;
  std::multimap<std::int64_t, Key> last_use_;  // flat op -> members that end there
  std::map<Key, std::shared_ptr<std::byte[]>> held_;
  std::array<Bytes, kPlaces.size()> live_ = {}, peak_ = {};  // by place
  std::shared_ptr<Allocated> allocated_ = std::make_shared<Allocated>();
};

}  // namespace plait
