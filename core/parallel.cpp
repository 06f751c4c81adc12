#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace plait {

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
  {
    std::vector<std::jthread> helpers;
    for (int j = 1; j < jobs; ++j) helpers.emplace_back(loop);
    loop();
  }
  for (const std::exception_ptr& e : errors) {
    if (e) std::rethrow_exception(e);
  }
}

void in_pieces(std::size_t n, std::size_t size, int jobs,
               const std::function<void(std::size_t, std::size_t, std::size_t)>& work) {
  in_parallel(piece_count(n, size), jobs,
              [&](std::size_t p) { work(p, p * size, std::min(n, (p + 1) * size)); });
}

}  // namespace plait
