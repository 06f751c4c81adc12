#pragma once
// Independent pieces of work on several threads.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace plait {

/// work(0), ..., work(n - 1) on `jobs` threads. Of several errors the one of the smallest index is
/// thrown, after all are done. `done` hears, one call at a time, how many are.
void in_parallel(std::size_t n, int jobs, const std::function<void(std::size_t)>& work,
                 const std::function<void(std::size_t)>& done = {});

/// 0 .. n - 1 by their length, the longest first: in this order the thread with the last piece of
/// work keeps the others waiting no longer than a short one takes.
std::vector<std::size_t> longest_first(std::size_t n,
                                       const std::function<std::int64_t(std::size_t)>& length);

/// How many pieces of up to `size` 0 .. n - 1 is cut into.
constexpr std::size_t piece_count(std::size_t n, std::size_t size) { return (n + size - 1) / size; }
/// The same in such pieces: work(piece, begin, end) for begin .. end - 1.
void in_pieces(std::size_t n, std::size_t size, int jobs,
               const std::function<void(std::size_t, std::size_t, std::size_t)>& work);

}  // namespace plait
