#include "tests/emulated_cuda/emulated_launch.h"

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
/// two system calls, a jump none. The compiler's own jumps restore what this function needs, where
/// the library's would restore every register and look for handlers of cancelled threads.
struct Resume {
  void* at[5] = {};
  ucontext_t start{};
  bool started = true;
};
[[gnu::noinline]] void leave_for(Resume& to) {
  if (to.started) __builtin_longjmp(to.at, 1);
  to.started = true;
  setcontext(&to.start);
}
[[gnu::noinline]] void exchange(Resume& from, Resume& to) {
  if (__builtin_setjmp(from.at) == 0) leave_for(to);  // else somebody came back
}

/// A stack on which threads run: one after the other, as long as none has to wait.
struct Fiber {
  Resume resume{};
  std::unique_ptr<std::byte[]> stack{new std::byte[kStackBytes]};  // touched where it is used
};
struct Thread {
  Fiber* fiber = nullptr;  // none before it begins
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

/// The fibers of one host thread, which stay between launches, and the threads of a block on them.
class Scheduler {
 public:
  void run(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& body) {
    this_thread.grid = grid, this_thread.block = block, body_ = &body;
    shared_.assign(shared_bytes / sizeof(shared_[0]) + 1, {});
    const std::size_t threads = std::size_t{block.x} * block.y * block.z;
    if (threads == 0 || threads > 1024 || threads % kWarp != 0) fail("a block of whole warps");
    threads_.resize(threads), warps_.assign(threads / kWarp, {});
    const std::uint32_t draw = ++launches_ * 0x9E3779B1U;  // 2^32 over the golden ratio
    upwards_ = draw >> 31 != 0, copies_at_once_ = (draw >> 30 & 1) != 0;
    for (unsigned z = 0; z < grid.z; ++z) {
      for (unsigned y = 0; y < grid.y; ++y) {
        for (unsigned x = 0; x < grid.x; ++x) run_block({x, y, z});
      }
    }
  }

  void meet_block() {
    Thread& mine = threads_[current_];
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
  LaterCopies& copies() { return threads_[current_].copies; }
  bool copies_at_once() const { return copies_at_once_; }
  std::size_t current() const { return current_; }
  void* shared() { return shared_.data(); }

 private:
  struct alignas(16) Sixteen {
    std::byte bytes[16];
  };

  void run_block(uint3 at) {
    this_thread.at_block = at;
    live_ = threads_.size(), waiting_ = 0;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      const auto n = static_cast<unsigned>(i);
      const dim3& b = this_thread.block;
      threads_[i].at = {n % b.x, n / b.x % b.y, n / b.x / b.y};
      threads_[i].done = false, threads_[i].fiber = nullptr;
      threads_[i].copies.open.clear(), threads_[i].copies.groups.clear();
    }
    for (Warp& warp : warps_) warp.progress = true;
    current_ = upwards_ ? 0 : threads_.size() - kWarp;
    exchange(main_, begin_current(idle_fiber()).resume);
  }
  /// A warp goes on as long as its lanes get anywhere, then another one: threads that should wait
  /// for others and do not run ahead of them as far as can be. Warps follow one another upwards in
  /// some launches, downwards in others.
  void yield() {
    const std::size_t from = current_;
    choose_next();
    if (current_ == from) return;
    const bool begun = threads_[current_].fiber != nullptr;
    Fiber& to = begun ? resume_current() : begin_current(idle_fiber());
    exchange(threads_[from].fiber->resume, to.resume);
  }
  void choose_next() {
    const std::size_t from = current_, warps = warps_.size();
    std::size_t warp = from / kWarp;
    current_ = runnable(from + 1, (warp + 1) * kWarp);
    for (std::size_t tried = 0; current_ == kNone; ++tried) {
      if (tried > warps) fail("threads that meet: some wait for others that never come");
      if (std::exchange(warps_[warp].progress, false)) {
        current_ = runnable(warp * kWarp, (warp + 1) * kWarp);
      }
      if (current_ == kNone) warp = (warp + (upwards_ ? 1 : warps - 1)) % warps;
    }
  }
  std::size_t runnable(std::size_t first, std::size_t end) const {
    while (first < end && (threads_[first].done || threads_[first].waits_for_block)) ++first;
    return first < end ? first : kNone;
  }
  /// The current thread, which has not begun, runs on the fiber.
  Fiber& begin_current(Fiber& fiber) {
    threads_[current_].fiber = &fiber;
    this_thread.at_thread = threads_[current_].at;
    return fiber;
  }
  Fiber& resume_current() {
    this_thread.at_thread = threads_[current_].at;
    return *threads_[current_].fiber;
  }
  void open_barrier() {
    if (waiting_ == 0 || waiting_ < live_) return;
    for (Thread& thread : threads_) thread.waits_for_block = false;
    for (Warp& warp : warps_) warp.progress = true;
    waiting_ = 0;
  }
  /// The current thread has returned: its fiber is free for another one.
  void finish() {
    Fiber& fiber = *threads_[current_].fiber;
    threads_[current_].done = true;
    warps_[current_ / kWarp].progress = true;
    --live_;
    open_barrier();
    if (live_ > 0) choose_next();
    if (live_ > 0 && threads_[current_].fiber == nullptr) {
      begin_current(fiber);
      return;
    }
    idle_.push_back(&fiber);
    exchange(fiber.resume, live_ == 0 ? main_ : resume_current().resume);
  }
  Fiber& idle_fiber() {
    if (idle_.empty()) add_fiber();
    Fiber& fiber = *idle_.back();
    idle_.pop_back();
    return fiber;
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
    idle_.push_back(&f);
  }
  static void fiber_main();
  [[noreturn]] static void fail(const char* expected) {
    std::fprintf(stderr, "emulated kernel: expected %s\n", expected);
    std::abort();
  }

  const std::function<void()>* body_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<Sixteen> shared_;
  std::size_t live_ = 0, waiting_ = 0, current_ = 0;
  bool upwards_ = false, copies_at_once_ = false;
  std::uint32_t launches_ = 0;
  Resume main_{};
};

constinit thread_local Scheduler* running = nullptr;

void Scheduler::fiber_main() {
  while (true) {
    (*running->body_)();
    running->finish();
  }
}

}  // namespace

constinit thread_local Place this_thread;

bool copies_at_once() { return running->copies_at_once(); }
LaterCopies& later_copies() { return running->copies(); }
int lane() { return static_cast<int>(running->current() % kWarp); }
void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& body) {
  thread_local Scheduler of_this_thread;
  running = &of_this_thread;
  running->run(grid, block, shared_bytes, body);
}
void meet_block() { running->meet_block(); }
void meet_warp(void* mine, Combine combine) { running->meet_warp(mine, combine); }
void* shared_memory() { return running->shared(); }

}  // namespace plait::emulated
