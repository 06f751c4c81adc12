#include "serving/objectives.h"

namespace plait {
namespace {

bool within(SimTime time, Seconds limit) { return limit.value == 0 || time <= to_sim_time(limit); }

}  // namespace

Latency latency_of(const Request& r, const Served& s) {
  const std::int64_t later = r.output - 1;
  return {s.first_token - s.arrival, later > 0 ? (s.finish - s.first_token) / later : 0,
          s.finish - s.arrival};
}

Kept kept_by(const Latency& l, const Slo& slo) {
  return {within(l.first_token, slo.ttft), within(l.per_token, slo.tpot),
          within(l.end_to_end, slo.e2el)};
}

void Attainment::add(const Kept& kept) {
  ++requests;
  good += kept.all() ? 1 : 0;
  missed_ttft += kept.ttft ? 0 : 1, missed_tpot += kept.tpot ? 0 : 1;
  missed_e2el += kept.e2el ? 0 : 1;
}

bool Attainment::reaches(const Slo& slo) const {
  constexpr double kRounding = 1e-12;  // of the share that is asked for
  return share(good) >= slo.attainment - kRounding;
}

}  // namespace plait
