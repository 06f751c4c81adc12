#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>
#include <vector>

#include "core/large_pages.h"

namespace plait {
namespace {

/// Threads that stay and sleep between calls. A new thread begins on the processor of the one that
/// made it, and can wait there for milliseconds, which is longer than most calls take.
class Helpers {
 public:
  /// Those of the process. They end with it, not before: nothing is left to free them.
  static Helpers& of_process() {
    static auto& helpers = *new Helpers;
    return helpers;
  }

  /// `loop` by the caller and by up to `hands` helpers at the same time, as many as are free while
  /// it runs; returns when all that entered it have left. Until then the caller helps others.
  void run(int hands, const std::function<void()>& loop) {
    Call call{loop, hands};
    {
      const std::lock_guard lock(mutex_);
      while (size_ < hands && add_helper()) ++size_;
      calls_.push_back(&call);
    }
    called_.notify_all(), left_.notify_all();
    loop();
    std::unique_lock lock(mutex_);
    std::erase(calls_, &call);
    while (call.inside > 0) help(lock, left_);
  }

 private:
  struct Call {
    const std::function<void()>& loop;
    int wanted;  // helpers that may still enter
    int inside = 0;
  };

  /// Where the system has no more threads, those that are there do it all.
  bool add_helper() {
    try {
      std::thread([this] { serve(); }).detach();
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }
  [[noreturn]] void serve() {
    allocate_on_large_pages(kHeapOfAThread);
    std::unique_lock lock(mutex_);
    while (true) help(lock, called_);
  }
  /// In the first call that wants it; where none does, waits for news.
  void help(std::unique_lock<std::mutex>& lock, std::condition_variable& news) {
    if (calls_.empty()) return news.wait(lock);
    Call& call = *calls_.front();
    ++call.inside;
    if (--call.wanted == 0) calls_.erase(calls_.begin());
    lock.unlock();
    call.loop();
    lock.lock();
    if (--call.inside == 0) left_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable called_;  // somebody wants helpers
  std::condition_variable left_;    // or a call has lost its last one: what callers wait for
  std::vector<Call*> calls_;        // that want helpers
  int size_ = 0;
};

}  // namespace

void in_parallel(std::size_t n, int jobs, const std::function<void(std::size_t)>& work,
                 const std::function<void(std::size_t)>& done) {
  std::vector<std::exception_ptr> errors(n);
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t finished = 0;
  const auto loop = [&] {
    for (std::size_t i = next++; i < n; i = next++) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      ++finished;
      if (done) done(finished);
    }
  };
  const auto hands = static_cast<int>(std::min<std::size_t>(n, static_cast<std::size_t>(jobs))) - 1;
  hands > 0 ? Helpers::of_process().run(hands, loop) : loop();
  for (const std::exception_ptr& e : errors) {
    if (e) std::rethrow_exception(e);
  }
}

std::vector<std::size_t> longest_first(std::size_t n,
                                       const std::function<std::int64_t(std::size_t)>& length) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, std::cref(length));
  return order;
}

void in_pieces(std::size_t n, std::size_t size, int jobs,
               const std::function<void(std::size_t, std::size_t, std::size_t)>& work) {
  in_parallel(piece_count(n, size), jobs,
              [&](std::size_t p) { work(p, p * size, std::min(n, (p + 1) * size)); });
}

}  // namespace plait
