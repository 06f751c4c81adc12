#pragma once
// Ranks that compute next to nothing and wait for one another at every message: on one core the
// next one just goes on, on several each message wakes another core up.

#include <sched.h>

namespace plait {

/// The calling thread, and those that it starts from now on, stay on the core that it is on, until
/// the end of this object; where the system does not allow that, nothing changes.
class OneCore {
 public:
  OneCore() {
    const int core = sched_getcpu();
    if (core < 0 || sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(core), &one);
    pinned_ = sched_setaffinity(0, sizeof(one), &one) == 0;
  }
  ~OneCore() {
    if (pinned_) sched_setaffinity(0, sizeof(before_), &before_);
  }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_{};
  bool pinned_ = false;
};

}  // namespace plait
