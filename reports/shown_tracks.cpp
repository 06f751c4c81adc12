#include "reports/shown_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"
#include "reports/human.h"
#include "reports/report.h"

namespace plait {
namespace {

SimTime end_of(const Track& track) {
  return track.end.empty() ? 0 : *std::max_element(track.end.begin(), track.end.end());
}

const Track& track_of(const Timeline& timeline, std::int64_t rank) {
  const auto found = std::ranges::find(timeline.tracks, rank, &Track::rank);
  if (found != timeline.tracks.end()) return *found;
  std::int64_t ranks = 0;
  for (const Track& t : timeline.tracks) ranks += t.multiplicity;
  if (rank < 0 || rank >= ranks) {
    throw InputError({.code = "G022",
                      .problem = fmt::format("there is no rank {} to trace", rank),
                      .expected = fmt::format("ranks from 0 to {}", ranks - 1),
                      .cure = ""});
  }
  throw InputError({.code = "G010",
                    .problem = fmt::format("rank {} is not simulated on its own", rank),
                    .cure = "choose a rank that a trace without --trace-ranks shows, or simulate "
                            "every rank with --unfold"});
}

}  // namespace

std::string kind_of_rank(const Plan& plan, const std::vector<std::string>& devices,
                         std::int64_t rank) {
  std::string out = devices.empty() ? "" : devices[static_cast<std::size_t>(rank)];
  if (!plan.servers.any()) return out;
  return out + (out.empty() ? "" : ", ") + human_words(role_name(role_of(plan, rank)));
}

std::vector<const Track*> shown_tracks(const Plan& plan, const Timeline& timeline,
                                       const std::vector<std::int64_t>& ranks,
                                       const std::vector<std::string>& devices) {
  std::vector<const Track*> chosen;
  for (const std::int64_t rank : ranks) chosen.push_back(&track_of(timeline, rank));
  if (ranks.empty()) {
    std::map<std::pair<std::int64_t, std::string>, const Track*> last;
    for (const Track& t : timeline.tracks) {
      const Track*& best = last[{t.stage, kind_of_rank(plan, devices, t.rank)}];
      if (best == nullptr || end_of(t) > end_of(*best)) best = &t;
    }
    for (const auto& [kind, track] : last) chosen.push_back(track);
  }
  std::ranges::sort(chosen, {}, [](const Track* t) { return t->rank; });
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

}  // namespace plait
