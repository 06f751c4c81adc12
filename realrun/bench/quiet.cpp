#include "realrun/bench/quiet.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "realrun/bench/timing.h"
#include "realrun/op_time.h"

namespace plait {
namespace {

// Beyond these, wall time of work that is shorter than a scheduling slice (1 to 4 ms) scatters more
// than the models' errors (some %). Measured on idle machines: nothing stolen, jitter below 2 %,
// core to core 25 to 60 ns within a socket, 165 ns on virtual cores of two sockets.
constexpr double kMostStolen = 0.01, kMostJitter = 0.05, kMostCoreToCoreNs = 200;
// One core's worth of others' work on two cores is what our own probe is.
constexpr double kMostBusy = 0.75;

/// Processors that this process may use.
std::vector<int> processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) out.push_back(i);
  }
  return out;
}

void pin_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

/// Two threads hand a counter to and fro; one way in nanoseconds, per batch of round trips.
std::vector<double> core_to_core(int first, int second, double seconds) {
  constexpr std::int64_t kTrips = 200;  // of a batch
  alignas(64) std::atomic<std::int64_t> word{0};
  std::atomic<bool> stop{false};
  std::thread echo([&] {
    pin_to(second);
    for (std::int64_t next = 1; !stop; next += 2) {
      while (word.load(std::memory_order_acquire) != next) {
        if (stop) return;
      }
      word.store(next + 1, std::memory_order_release);
    }
  });
  std::vector<double> one_way;
  std::thread ask([&] {
    pin_to(first);
    const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds / kSecondsPerNs);
    for (std::int64_t sent = 1; now_ns() < end;) {
      const std::int64_t start = now_ns();
      for (std::int64_t i = 0; i < kTrips; ++i, sent += 2) {
        word.store(sent, std::memory_order_release);
        while (word.load(std::memory_order_acquire) != sent + 1) {
        }
      }
      one_way.push_back(static_cast<double>(now_ns() - start) / (2 * kTrips));
    }
  });
  ask.join();
  stop = true;
  echo.join();
  return one_way;
}

/// Relative lengthening of a piece of arithmetic of about 0.2 ms at its 90th percentile.
double jitter(double seconds) {
  std::vector<double> times;
  volatile double value = 1;  // so that the work is done each time
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds / kSecondsPerNs);
  do {
    const std::int64_t start = now_ns();
    double x = value;
    for (int i = 0; i < 100'000; ++i) x = x * 0.999999 + 1e-6;
    value = x;
    times.push_back(static_cast<double>(now_ns() - start));
  } while (now_ns() < end);
  const Spread s = spread_of(times);
  return s.p90 / s.median - 1;
}

}  // namespace

MachineTime machine_time() {
  std::ifstream file("/proc/stat");
  std::string name;
  // user nice system idle iowait irq softirq steal (proc(5)); guest time is part of user's.
  std::int64_t ticks[8] = {};
  if (!(file >> name) || name != "cpu") return {};
  MachineTime out;
  for (std::int64_t& t : ticks) {
    if (!(file >> t)) return {};
    out.total += t;
  }
  out.stolen = ticks[7];
  out.busy = out.total - ticks[3] - ticks[4] - ticks[7];
  return out;
}

Quietness quietness_since(const MachineTime& before) {
  const MachineTime now = machine_time();
  const auto total = static_cast<double>(std::max<std::int64_t>(now.total - before.total, 1));
  Quietness out;
  out.stolen = static_cast<double>(now.stolen - before.stolen) / total;
  out.busy = static_cast<double>(now.busy - before.busy) / total;
  return out;
}

Quietness probe_quietness(double seconds) {
  const MachineTime before = machine_time();
  const double jittered = jitter(seconds / 2);
  Quietness out = quietness_since(before);  // while we use one core
  out.jitter = jittered;
  const std::vector<int> cores = processors();
  if (cores.size() > 1) {
    const Spread s = spread_of(core_to_core(cores[0], cores[1], seconds / 2));
    out.core_to_core_ns = s.median, out.core_to_core_p90 = s.p90;
  }
  return out;
}

std::string words_for(const Quietness& q) {
  std::vector<std::string> noise;
  if (q.stolen > kMostStolen) noise.push_back(fmt::format("{:.0f} % stolen", 100 * q.stolen));
  if (q.busy > kMostBusy) noise.push_back(fmt::format("{:.0f} % busy", 100 * q.busy));
  if (q.jitter > kMostJitter) noise.push_back(fmt::format("{:.0f} % jitter", 100 * q.jitter));
  if (q.core_to_core_ns > kMostCoreToCoreNs) {
    noise.push_back(fmt::format("{:.0f} ns between cores", q.core_to_core_ns));
  }
  return noise.empty() ? "quiet" : fmt::format("noisy: {}", fmt::join(noise, ", "));
}

}  // namespace plait
