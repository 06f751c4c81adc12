#include "realrun/launch/rank_threads.h"

#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/error.h"
#include "realrun/transport/threads.h"

namespace plait {

int run_threads(std::int64_t ranks, const std::function<int(Transport&)>& body) {
  ThreadWorld world(ranks);
  std::mutex mutex;
  std::exception_ptr failure;
  int result = 0;
  const auto run = [&](std::int64_t r) {
    try {
      const std::unique_ptr<Transport> transport = world.transport(r);
      const int code = body(*transport);
      if (r == 0) result = code;
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      world.abort();
    }
  };
  std::vector<std::jthread> threads;
  try {
    for (std::int64_t r = 0; r < ranks; ++r) threads.emplace_back(run, r);
  } catch (const std::system_error& error) {
    world.abort();
    threads.clear();
    throw EnvironmentError("cannot start a thread for each of " + std::to_string(ranks) +
                           " ranks: " + error.what());
  }
  threads.clear();  // joins them
  if (failure) std::rethrow_exception(failure);
  return result;
}

}  // namespace plait
