#include "sim/critical_path.h"

#include <map>
#include <utility>

#include "sim/time_on_path.h"

namespace plait {
namespace {

class PathWalk {
 public:
  PathWalk(const RecordedStep& step, const BindingMembers& members, const FurtherPeriods& further)
      : step_(step), further_(further), members_(members) {}

  CriticalPath run() {
    while (now_ > 0) {
      enter_further(by_time_);
      at_ = members_.binding(at_);
      enter_further(by_peer_);
      const Track& track = step_.tracks()[at_.track];
      go_back_to(track.end[at_.flat]);
      const SimTime since = track.start[at_.flat];
      times_.add(at_, now_ - since);
      now_ = since;
      go_back_to(step_.ready(at_.track, at_.flat));
      std::uint32_t cause = step_.cause(at_.track, at_.flat);
      const bool follows = cause != kNoCause && track.end[cause] == now_;
      if (!follows && step_.waited_for_host(at_.track, at_.flat, now_)) {
        if (busy_through(at_)) now_ += std::exchange(left_, 0) * further_.time;
        const SimTime busy_since = step_.busy_since(at_.track, at_.flat);
        times_.add_host(now_ - busy_since);
        now_ = busy_since;
        cause = step_.host_after(at_.track, at_.flat);
      }
      at_.flat = cause;
    }
    if (left_ > 0) times_.add_wait(left_ * further_.time);
    return {times_.shares(), times_.sensitivity()};
  }

 private:
  struct Entry {
    std::int64_t left = 0;
    std::size_t parts = 0;  // of the path until then
  };
  using Entries = std::map<PlaceInTrack, Entry>;

  /// What went on from then on is of a rank that is not recorded, which this one waited for.
  void go_back_to(SimTime then) {
    if (then < now_) times_.add_wait(now_ - then);
    now_ = std::min(now_, then);
  }
  /// What comes before the last period that the timeline has is, with `left_` periods to go, in one
  /// of these. What the path has done since it last came in here, it does again and again.
  void enter_further(Entries& before) {
    if (left_ == 0) return;
    const FurtherPeriods::Ops last = further_.last[step_.stage_of(at_.track)];
    if (at_.flat >= last.first) return;
    for (; left_ > 0 && at_.flat < last.first; --left_) {
      at_.flat += last.count(), now_ += further_.time;
    }
    const auto [known, fresh] = before.try_emplace(at_, Entry{left_, times_.parts()});
    if (fresh) return;
    const std::int64_t periods = known->second.left - left_;
    times_.repeat_from(known->second.parts, left_ / periods);
    left_ %= periods;
  }
  /// Whether the host has waited for nothing in a whole period when it issues the op.
  bool busy_through(const PlaceInTrack& at) const {
    if (further_.count == 0) return false;
    const FurtherPeriods::Ops last = further_.last[step_.stage_of(at.track)];
    const std::uint32_t after = step_.host_after(at.track, at.flat);
    return after == kNoCause || (after < last.first && at.flat - after > last.count());
  }
  /// Of what is recorded.
  PlaceInTrack latest() const {
    PlaceInTrack out{0, 0};
    SimTime end = 0;
    for (std::size_t t = 0; t < step_.tracks().size(); ++t) {
      for (std::uint32_t i = 0; i < step_.tracks()[t].end.size(); ++i) {
        if (step_.tracks()[t].end[i] > end) out = {t, i}, end = step_.tracks()[t].end[i];
      }
    }
    return out;
  }

  const RecordedStep& step_;
  const FurtherPeriods& further_;
  const BindingMembers& members_;
  // The path so far, from its end.
  PlaceInTrack at_ = latest();
  SimTime now_ = step_.step_time();
  std::int64_t left_ = further_.count;  // periods that the place stands behind
  TimeOnPath times_{step_};
  Entries by_time_, by_peer_;  // to further periods: behind an op, or at who decided its end
};

}  // namespace

CriticalPath critical_path(const RecordedStep& step, const BindingMembers& members,
                           const FurtherPeriods& further) {
  return PathWalk(step, members, further).run();
}

}  // namespace plait
