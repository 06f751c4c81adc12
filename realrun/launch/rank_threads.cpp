#include "realrun/launch/rank_threads.h"

#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "realrun/transport/threads.h"

namespace plait {

int run_threads(std::int64_t ranks, const std::function<int(Transport&)>& body) {
  ThreadWorld world(ranks);
  std::mutex mutex;
  std::exception_ptr failure;
  int result = 0;
  std::vector<std::thread> threads;
  for (std::int64_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        const std::unique_ptr<Transport> transport = world.transport(r);
        const int code = body(*transport);
        if (r == 0) result = code;
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        world.abort();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  if (failure) std::rethrow_exception(failure);
  return result;
}

}  // namespace plait
