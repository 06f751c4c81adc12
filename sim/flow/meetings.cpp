#include "sim/flow/meetings.h"

namespace plait {

Meetings::Meetings(const Plan& plan, const Lanes& lanes)
    : lanes_(lanes), stages_(plan.programs.size()) {
  for (const Grouping& g : lanes.groupings) {
    first_.push_back(number_.size());
    number_.resize(number_.size() + stages_ * g.groups * kStreams, kNoMeeting);
  }
}

std::uint32_t Meetings::join(const Collective& c, std::size_t stage, std::size_t lane,
                             std::size_t stream) {
  const std::size_t k = lanes_.grouping(c);
  const Grouping& g = lanes_.groupings[k];
  const bool across = c.axes.has(Axis::kPp);
  const auto first = [&](std::size_t s) {
    return first_of_meeting(c.stages, static_cast<std::int64_t>(s),
                            static_cast<std::int64_t>(stages_));
  };
  const std::size_t at =
      ((across ? static_cast<std::size_t>(first(stage)) : stage) * g.groups + g.group_of[lane]) *
          kStreams +
      stream;
  std::uint32_t& number = number_[first_[k] + at];
  if (number == kNoMeeting) {
    number = static_cast<std::uint32_t>(places_.size());
    places_.emplace_back();
    for (std::size_t s = 0; s < stages_; ++s) {
      if (across ? first(s) != first(stage) : s != stage) continue;
      for (std::size_t l = 0; l < lanes_.count(); ++l) {
        if (g.group_of[l] != g.group_of[lane]) continue;
        places_.back().members.push_back(static_cast<std::uint32_t>(s * lanes_.count() + l));
      }
    }
  }
  ++places_[number].joined;
  return number;
}

}  // namespace plait
