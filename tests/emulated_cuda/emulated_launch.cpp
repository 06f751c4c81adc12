#undef _FORTIFY_SOURCE  // its longjmp takes jumps between stacks for errors

#include "tests/emulated_cuda/emulated_launch.h"

#include <setjmp.h>
#include <ucontext.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace plait::emulated {
namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;
constexpr unsigned kWarp = 32;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Where a fiber goes on, or the host thread. Contexts only start fibers: to exchange them costs
/// two system calls, a jump none.
struct Resume {
  jmp_buf at;
  ucontext_t start{};
  bool started = true;
};
void exchange(Resume& from, Resume& to) {
  if (_setjmp(from.at) != 0) return;  // somebody came back
  if (to.started) _longjmp(to.at, 1);
  to.started = true;
  setcontext(&to.start);
}

struct Fiber {
  Resume resume{};
  std::unique_ptr<std::byte[]> stack{new std::byte[kStackBytes]};  // touched where it is used
  uint3 at{};
  bool waits_for_block = false, done = true;
  LaterCopies copies;
};
struct Warp {
  std::array<void*, kWarp> lanes{};
  unsigned arrived = 0;
  std::uint64_t meetings = 0;
  bool progress = true;  // since its lanes last had their turns
};

/// The fibers of one host thread. They stay between launches and each runs `body` once per block.
class Scheduler {
 public:
  void run(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& body) {
    place_.grid = grid, place_.block = block, body_ = &body;
    shared_.assign(shared_bytes / sizeof(shared_[0]) + 1, {});
    const std::size_t threads = std::size_t{block.x} * block.y * block.z;
    if (threads == 0 || threads > 1024 || threads % kWarp != 0) fail("a block of whole warps");
    while (fibers_.size() < threads) add_fiber();
    threads_ = threads, warps_.assign(threads / kWarp, {});
    const std::uint32_t draw = ++launches_ * 0x9E3779B1U;  // 2^32 over the golden ratio
    upwards_ = draw >> 31 != 0, copies_at_once_ = (draw >> 30 & 1) != 0;
    for (unsigned z = 0; z < grid.z; ++z) {
      for (unsigned y = 0; y < grid.y; ++y) {
        for (unsigned x = 0; x < grid.x; ++x) run_block({x, y, z});
      }
    }
  }

  void meet_block() {
    Fiber& mine = *fibers_[current_];
    mine.waits_for_block = true;
    ++waiting_;
    open_barrier();
    while (mine.waits_for_block) yield();
    warps_[current_ / kWarp].progress = true;
  }
  void meet_warp(void* mine, Combine combine) {
    Warp& warp = warps_[current_ / kWarp];
    warp.lanes[current_ % kWarp] = mine;
    const std::uint64_t meeting = warp.meetings;
    if (++warp.arrived == kWarp) {
      combine(warp.lanes.data());
      warp.arrived = 0, ++warp.meetings;
    }
    warp.progress = true;
    while (warp.meetings == meeting) yield();
    warp.progress = true;
  }
  Place& place() { return place_; }
  LaterCopies& copies() { return fibers_[current_]->copies; }
  bool copies_at_once() const { return copies_at_once_; }
  std::size_t current() const { return current_; }
  void* shared() { return shared_.data(); }

 private:
  struct alignas(16) Sixteen {
    std::byte bytes[16];
  };

  void run_block(uint3 at) {
    place_.at_block = at;
    live_ = threads_, waiting_ = 0;
    for (std::size_t i = 0; i < threads_; ++i) {
      const auto n = static_cast<unsigned>(i);
      const dim3& b = place_.block;
      fibers_[i]->at = {n % b.x, n / b.x % b.y, n / b.x / b.y};
      fibers_[i]->done = false, fibers_[i]->waits_for_block = false;
      fibers_[i]->copies = {};
    }
    for (Warp& warp : warps_) warp.progress = true;
    current_ = upwards_ ? 0 : threads_ - kWarp;
    place_.at_thread = fibers_[current_]->at;
    exchange(main_, fibers_[current_]->resume);
  }
  /// A warp goes on as long as its lanes get anywhere, then another one: threads that should wait
  /// for others and do not run ahead of them as far as can be. Warps follow one another upwards in
  /// some launches, downwards in others.
  void yield() {
    const std::size_t from = current_, warps = threads_ / kWarp;
    std::size_t warp = from / kWarp;
    current_ = runnable(from + 1, (warp + 1) * kWarp);
    for (std::size_t tried = 0; current_ == kNone; ++tried) {
      if (tried > warps) fail("threads that meet: some wait for others that never come");
      if (std::exchange(warps_[warp].progress, false)) {
        current_ = runnable(warp * kWarp, (warp + 1) * kWarp);
      }
      if (current_ == kNone) warp = (warp + (upwards_ ? 1 : warps - 1)) % warps;
    }
    switch_from(from);
  }
  std::size_t runnable(std::size_t first, std::size_t end) const {
    while (first < end && (fibers_[first]->done || fibers_[first]->waits_for_block)) ++first;
    return first < end ? first : kNone;
  }
  void switch_from(std::size_t from) {
    if (current_ == from) return;
    place_.at_thread = fibers_[current_]->at;
    exchange(fibers_[from]->resume, fibers_[current_]->resume);
  }
  void open_barrier() {
    if (waiting_ == 0 || waiting_ < live_) return;
    for (std::size_t i = 0; i < threads_; ++i) fibers_[i]->waits_for_block = false;
    for (Warp& warp : warps_) warp.progress = true;
    waiting_ = 0;
  }
  void finish() {
    fibers_[current_]->done = true;
    warps_[current_ / kWarp].progress = true;
    --live_;
    open_barrier();
    if (live_ == 0) {
      exchange(fibers_[current_]->resume, main_);
    } else {
      yield();
    }
  }
  void add_fiber() {
    fibers_.push_back(std::make_unique<Fiber>());
    Fiber& f = *fibers_.back();
    getcontext(&f.resume.start);
    f.resume.start.uc_stack.ss_sp = f.stack.get();
    f.resume.start.uc_stack.ss_size = kStackBytes;
    f.resume.start.uc_link = nullptr;
    f.resume.started = false;
    makecontext(&f.resume.start, &Scheduler::fiber_main, 0);
  }
  static void fiber_main();
  [[noreturn]] static void fail(const char* expected) {
    std::fprintf(stderr, "emulated kernel: expected %s\n", expected);
    std::abort();
  }

  Place place_;
  const std::function<void()>* body_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Warp> warps_;
  std::vector<Sixteen> shared_;
  std::size_t threads_ = 0, live_ = 0, waiting_ = 0, current_ = 0;
  bool upwards_ = false, copies_at_once_ = false;
  std::uint32_t launches_ = 0;
  Resume main_{};
};

Scheduler& scheduler() {
  thread_local Scheduler of_this_thread;
  return of_this_thread;
}

void Scheduler::fiber_main() {
  Scheduler& s = scheduler();
  while (true) {
    (*s.body_)();
    s.finish();
  }
}

}  // namespace

const Place& here() { return scheduler().place(); }
bool copies_at_once() { return scheduler().copies_at_once(); }
LaterCopies& later_copies() { return scheduler().copies(); }
int lane() { return static_cast<int>(scheduler().current() % kWarp); }
void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& body) {
  scheduler().run(grid, block, shared_bytes, body);
}
void meet_block() { scheduler().meet_block(); }
void meet_warp(void* mine, Combine combine) { scheduler().meet_warp(mine, combine); }
void* shared_memory() { return scheduler().shared(); }

}  // namespace plait::emulated
