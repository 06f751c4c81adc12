#pragma once
// Independent pieces of work on several threads.

#include <cstddef>
#include <functional>

namespace plait {

/// work(0), ..., work(n - 1) on `jobs` threads. Of several errors the one of the smallest index is
/// thrown, after all are done. `done` hears, one call at a time, how many are.
void in_parallel(std::size_t n, int jobs, const std::function<void(std::size_t)>& work,
                 const std::function<void(std::size_t)>& done = {});

}  // namespace plait
