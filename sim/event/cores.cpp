#include "sim/event/cores.h"

#include <cmath>

#include "core/error.h"

namespace plait {
namespace {

constexpr std::int64_t kUnits = 256;                           // of service per picosecond
constexpr std::int64_t kMost = (std::int64_t{1} << 62) / 256;  // five hours

}  // namespace

void Cores::serve_until(SimTime now) {
  const SimTime dt = now - now_;
  now_ = now;
  if (ends_.empty()) return;
  service_ += plenty() ? dt * kUnits
                       : static_cast<std::int64_t>(
                             std::floor(static_cast<double>(dt) * rate() * double{kUnits}));
}

void Cores::start(SimTime now, std::uint32_t thread, SimTime work) {
  PLAIT_CHECK(work >= 0 && work < kMost && service_ / kUnits < kMost, "hours of work in a step");
  serve_until(now);
  ends_.emplace(service_ + work * kUnits, thread);
}

SimTime Cores::next() const {
  if (ends_.empty()) return kNever;
  const std::int64_t left = std::max<std::int64_t>(0, ends_.top().first - service_);
  if (plenty()) return now_ + (left + kUnits - 1) / kUnits;
  return now_ + static_cast<SimTime>(std::ceil(static_cast<double>(left) / kUnits / rate()));
}

void Cores::advance(SimTime now, std::vector<std::uint32_t>& ended) {
  serve_until(now);
  for (; !ends_.empty() && ends_.top().first <= service_; ends_.pop()) {
    ended.push_back(ends_.top().second);
  }
}

}  // namespace plait
