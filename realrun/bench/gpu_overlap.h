#pragma once
// A kernel and communication at the same time on one GPU, as `plait bench overlap` times them.

#include <cstdint>
#include <string>
#include <vector>

#include "model/op.h"
#include "realrun/bench/extents.h"

namespace plait {

enum class OverlapSide : std::uint8_t { kCompute, kCommunication };

/// Of one rank. All ranks call everything with the same arguments, in the same order.
class GpuOverlap {
 public:
  virtual ~GpuOverlap() = default;
  GpuOverlap() = default;
  GpuOverlap(const GpuOverlap&) = delete;
  GpuOverlap& operator=(const GpuOverlap&) = delete;

  /// OverlapRow::transport within a node, and the communications that there are.
  virtual std::string transport() const = 0;
  virtual std::vector<std::string> communications() const = 0;
  /// Ranks that a communication has.
  virtual std::int64_t ranks() const = 0;
  /// That compute has.
  virtual std::int64_t multiprocessors() const = 0;
  /// What is timed from here on; `bytes` as OverlapRow::size has them.
  virtual void take(const Compute& op, const std::string& communication, std::int64_t bytes) = 0;

  struct Times {
    double seconds = 0;   // of one call
    bool covered = true;  // the other side was there all the while
  };
  /// `calls` of one side back to back, by the device's clock, while the other side is busy with at
  /// least `beside` of its own. 0: alone.
  virtual Times time(OverlapSide side, std::int64_t calls, std::int64_t beside) = 0;
};

/// Bytes, of the largest communication and the largest operand.
std::int64_t largest_overlap(GridSize size);
/// Products of a layer's size, which multiprocessors limit, and kernels that memory limits.
std::vector<Compute> overlapped_ops(GridSize size);

}  // namespace plait
