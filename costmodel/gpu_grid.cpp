#include "costmodel/gpu_grid.h"

#include <algorithm>
#include <cmath>

namespace plait {
namespace {

constexpr double kBlock = 256, kWarp = 32;
constexpr double kBlocksOfSm = kThreadsOfSm / kBlock;

/// So much of a device's threads keep its memory busy: softmax's passes over 1,104, 1,200, 1,248
/// and 1,552 rows, where 1,056 are under way at a time, take 1.42, 1.40, 1.42 and 1.47 times as
/// long as 1,056 would on an H200 (plait bench compute).
constexpr double kSaturating = 0.42;

/// What a thread takes at a time; rows of another width are taken by elements.
double vectors_of(std::int64_t width, DType type) {
  const std::int64_t vector = std::max<std::int64_t>(16 / size_of(type), 1);
  const bool whole = width % vector == 0;
  return std::max(static_cast<double>(whole ? width / vector : width), 1.0);
}

/// The least power of two from a warp up that is `wanted`, at most `most`.
double threads_for(double wanted, double most) {
  double threads = kWarp;
  while (threads < most && threads < wanted) threads *= 2;
  return threads;
}

}  // namespace

double GpuGrid::rows_each() const { return std::ceil(rows / lines); }
double GpuGrid::filling() const {
  const double rounds = rows / lines, last = rounds - std::floor(rounds);
  const double taken = std::floor(rounds) + (last > 0 ? std::max(last, kSaturating) : 0);
  return idle * taken / rounds;
}

GpuGrid grid_in_rows(std::int64_t rows, std::int64_t width, DType type, const Device& gpu,
                     int share) {
  const double vectors = vectors_of(width, type), along = threads_for(vectors, kBlock);
  const double down = kBlock / along, columns = std::ceil(vectors / along);
  const double most = std::max(std::floor(kBlocksOfSm * gpu.sms / (share * columns)), 1.0);
  const double all = std::max(static_cast<double>(rows), 1.0);
  return {.rows = all,
          .lines = down * std::min(std::ceil(all / down), most),
          .idle = along * columns / vectors};
}

GpuGrid grid_by_row(std::int64_t rows, std::int64_t width, DType type, const Device& gpu,
                    int share) {
  constexpr double kHeld = 2, kMostThreads = 512, kMostBlocks = 32;
  const double vectors = vectors_of(width, type);
  const double threads = threads_for(vectors / kHeld, kMostThreads);
  const double most = gpu.sms * std::min(kThreadsOfSm / threads, kMostBlocks);
  const double all = std::max(static_cast<double>(rows), 1.0);
  return {.rows = all,
          .lines = std::ceil(std::min(all, most) / share),
          .idle = threads * std::ceil(vectors / threads) / vectors,
          .blocks = std::ceil(std::min(all, most) / share),
          .again = std::max(1 - kHeld * threads / vectors, 0.0)};
}

GpuGrid grid_of_blocks(std::int64_t rows, std::int64_t width, DType type, const Device& gpu) {
  const double vectors = vectors_of(width, type);
  const double all = std::max(static_cast<double>(rows), 1.0);
  return {.rows = all,
          .lines = std::min(all, kBlocksOfSm * gpu.sms),
          .idle = std::max(kSaturating * kBlock * std::ceil(vectors / kBlock) / vectors, 1.0)};
}

}  // namespace plait
