#pragma once
// What ranks tell one another besides the plan's communication: a common start, results for rank 0.
// On a channel of its own, while the communication thread rests.

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "realrun/transport.h"

namespace plait {

class Control {
 public:
  /// Gives up after `patience_s` without any answer.
  Control(Transport& transport, double patience_s)
      : transport_(transport), patience_s_(patience_s) {}

  std::int64_t rank() const { return transport_.rank(); }
  std::int64_t ranks() const { return transport_.ranks(); }
  /// Rank 0 gets what every rank gives, by rank; the others get nothing.
  std::vector<std::vector<std::byte>> gather(const std::vector<std::byte>& mine);
  /// Everybody gets what rank 0 gives.
  std::vector<std::byte> broadcast(const std::vector<std::byte>& from_rank_0);
  /// What rank 0 gives, as a value.
  template <class T>
  T agreed(const T& mine);
  /// Returns on no rank before all have called it.
  void barrier();
  /// Lets all ranks of one machine go on at the same moment; returns that moment, now_ns(). Ranks
  /// of other machines than rank 0's go on when they hear of it, and get their own clock's moment.
  std::int64_t common_start();

 private:
  void run(std::vector<BytesOnTheWay>& transfers);
  BytesOnTheWay transfer(Flow flow, std::int64_t peer, std::byte* data, std::size_t bytes) const;
  void send(std::int64_t to, const std::vector<std::byte>& bytes);
  std::vector<std::byte> receive(std::int64_t from);

  Transport& transport_;
  double patience_s_;
};

/// What ranks of one program give one another, byte by byte as it lies in memory.
template <class T>
std::vector<std::byte> as_vector(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<std::byte> out(sizeof(T));
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}
/// The value again. Its bytes must be as many: another number is a rank of another program.
template <class T>
T as_value(const std::vector<std::byte>& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  PLAIT_CHECK(bytes.size() == sizeof(T), "a value of another size from another rank");
  T out;
  std::memcpy(&out, bytes.data(), sizeof(T));
  return out;
}

template <class T>
T Control::agreed(const T& mine) {
  return as_value<T>(broadcast(as_vector(mine)));
}

/// Channels that a transport needs: one for each stream of the plan, one for control.
int transport_channels();

}  // namespace plait
