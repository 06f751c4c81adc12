#include "sim/breakdown.h"

#include <algorithm>
#include <variant>

namespace plait {
namespace {

class Accounts {
 public:
  Accounts(const RecordedStep& step, const BindingMembers& members, const FurtherPeriods& further)
      : step_(step), further_(further), members_(members) {}

  std::vector<Share> run() const {
    std::vector<double> total(step_.labels(), 0);
    double ranks = 0;
    for (std::size_t t = 0; t < step_.tracks().size(); ++t) {
      const auto weight = static_cast<double>(step_.tracks()[t].multiplicity);
      std::vector<SimTime> sum(step_.labels(), 0);
      account(t, sum);
      for (std::size_t k = 0; k < sum.size(); ++k) total[k] += weight * to_seconds(sum[k]).value;
      ranks += weight;
    }
    std::vector<Seconds> mean;
    for (const double time : total) mean.emplace_back(time / ranks);
    return step_.shares(mean);
  }

 private:
  void account(std::size_t t, std::vector<SimTime>& sum) const {
    const Track& track = step_.tracks()[t];
    const std::size_t s = step_.stage_of(t);
    SimTime now = account(t, {0, step_.ops(s)}, 0, sum);
    if (further_.count > 0) account_further(t, sum);
    // After the last kernel: communication of this rank, then others that still work.
    std::uint32_t last = kNoCause;
    for (std::uint32_t i = 0; i < step_.ops(s); ++i) {
      if (last == kNoCause || track.end[i] > track.end[last]) last = i;
    }
    if (last != kNoCause && track.end[last] > now) {
      const SimTime start = std::max(now, track.start[last]);
      sum[step_.label(s, last)] += track.end[last] - start;
      blame(t, now, start, last, sum);
      now = track.end[last];
    }
    sum[step_.waits().idle] += step_.step_time() - now;
  }
  void account_further(std::size_t t, std::vector<SimTime>& sum) const {
    const std::size_t s = step_.stage_of(t);
    const FurtherPeriods::Ops last = further_.last[s];
    SimTime before = 0;  // when the compute stream had ended what comes before
    for (std::uint32_t i = last.first; i-- > 0 && before == 0;) {
      if (step_.op(s, i).stream == Stream::kCompute) before = step_.tracks()[t].end[i];
    }
    std::vector<SimTime> each(sum.size(), 0);
    account(t, last, before, each);
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += further_.count * each[k];
  }
  /// Of these ops, what the compute stream does from `now` on; returns when it ends.
  SimTime account(std::size_t t, FurtherPeriods::Ops ops, SimTime now,
                  std::vector<SimTime>& sum) const {
    const Track& track = step_.tracks()[t];
    const std::size_t s = step_.stage_of(t);
    for (std::uint32_t i = ops.first; i < ops.end; ++i) {
      if (step_.op(s, i).stream != Stream::kCompute) continue;
      if (track.start[i] > now) blame(t, now, track.start[i], i, sum);
      sum[step_.label(s, i)] += track.end[i] - track.start[i];
      now = track.end[i];
    }
    return now;
  }
  /// The compute stream stood still from `from` to `to`, when op `flat` of the rank started. The
  /// time is, going back, the host's while the op had everything but was not issued; else that of
  /// the op of another stream that it waited for, while this ran; before, what this one waited for;
  /// with nothing of this rank, the peers'.
  void blame(std::size_t t, SimTime from, SimTime to, std::uint32_t flat,
             std::vector<SimTime>& sum) const {
    const Track& track = step_.tracks()[t];
    const std::size_t s = step_.stage_of(t);
    while (to > from) {
      std::uint32_t cause = step_.cause(t, flat);
      const auto had = [&] { return std::max(from, cause == kNoCause ? 0 : track.end[cause]); };
      if (had() < to) {
        if (!step_.waited_for_host(t, flat, to)) return blame_peers(t, from, to, flat, sum);
        if (step_.busy_since(t, flat) > had()) cause = step_.host_after(t, flat);
        sum[step_.waits().host] += to - had();
        to = had();
      }
      if (to == from) return;
      const SimTime begin = std::max(from, track.start[cause]);
      sum[step_.label(s, cause)] += to - begin;
      to = begin;
      flat = cause;
    }
  }

  /// Op `flat` started when the last of its members was ready. While that one, or those that it
  /// waited for in turn, reduced gradients behind its passes, nothing hid this communication, here
  /// too; the rest is a bubble.
  void blame_peers(std::size_t t, SimTime from, SimTime to, std::uint32_t flat,
                   std::vector<SimTime>& sum) const {
    for (PlaceInTrack at{t, flat}; to > from && is_behind_passes(at);) {
      at = members_.binding(at);
      at.flat = step_.cause(at.track, at.flat);
      const Track& track = step_.tracks()[at.track];
      if (!is_behind_passes(at) || track.end[at.flat] != to) break;
      const std::size_t s = step_.stage_of(at.track);
      const Op& op = step_.op(s, at.flat);
      const bool reduces =
          op.phase == Phase::kGradSync && std::holds_alternative<Collective>(op.body);
      const SimTime begin = std::max(from, track.start[at.flat]);
      sum[reduces ? step_.label(s, at.flat) : step_.waits().bubble] += to - begin;
      to = begin;
    }
    sum[step_.waits().bubble] += to - from;
  }
  bool is_behind_passes(const PlaceInTrack& at) const {
    if (at.flat == kNoCause) return false;
    const Phase phase = step_.op(step_.stage_of(at.track), at.flat).phase;
    return phase == Phase::kGradSync || phase == Phase::kOptimizer;
  }

  const RecordedStep& step_;
  const FurtherPeriods& further_;
  const BindingMembers& members_;
};

}  // namespace

std::vector<Share> breakdown(const RecordedStep& step, const BindingMembers& members,
                             const FurtherPeriods& further) {
  return Accounts(step, members, further).run();
}

}  // namespace plait
