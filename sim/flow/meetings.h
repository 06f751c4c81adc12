#pragma once
// Rank classes that gather for a collective. As streams are queues, the classes of one group are
// never in more than one collective of a stream at a time, so a meeting is a place that they come
// to again and again.

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "sim/lanes.h"

namespace plait {

inline constexpr std::uint32_t kNoMeeting = 0xFFFFFFFF;

class Meetings {
 public:
  Meetings(const Plan& plan, const Lanes& lanes);

  /// A rank class (stage, lane) is ready for the collective, on a stream. Returns the meeting.
  std::uint32_t join(const Collective& c, std::size_t stage, std::size_t lane, std::size_t stream);
  /// Everybody has joined.
  bool complete(std::uint32_t meeting) const {
    return places_[meeting].joined == places_[meeting].members.size();
  }
  /// Rank classes, stage * lanes + lane.
  const std::vector<std::uint32_t>& members(std::uint32_t meeting) const {
    return places_[meeting].members;
  }
  void part(std::uint32_t meeting) { places_[meeting].joined = 0; }

 private:
  struct Place {
    std::vector<std::uint32_t> members;
    std::size_t joined = 0;
  };
  const Lanes& lanes_;
  std::size_t stages_;
  std::vector<std::size_t> first_;     // per grouping: index into number_
  std::vector<std::uint32_t> number_;  // [grouping][stage][group][stream] -> place
  std::vector<Place> places_;
};

}  // namespace plait
