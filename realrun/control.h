#pragma once
// What ranks tell one another besides the plan's communication: a common start, results for rank 0.
// On a channel of its own, while the communication thread rests.

#include <cstdint>
#include <vector>

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

/// Channels that a transport needs: one for each stream of the plan, one for control.
int transport_channels();

}  // namespace plait
