#pragma once
// Device memory that a training framework takes beyond the tensors of the plan.

#include <algorithm>
#include <cstdint>

#include "core/quantity.h"

namespace plait {

struct FrameworkMemory {
  Bytes context = Bytes(512 << 20);  // driver context and loaded kernels
  double fragmentation = 0.04;       // of the live peak, reserved by the allocator and not usable
  /// Of cuBLAS: PyTorch's threads of forward and backward have one each.
  std::int64_t workspaces = 2;
  Bytes workspace;                      // each of these; 0: PyTorch's default for the device
  std::int64_t library_workspaces = 0;  // of cuBLASLt, by kernel libraries beside the framework
  double step_bytes_per_parameter = 0;  // temporaries of the optimizer step, per updated parameter
  double loss_bytes_per_logit = 0;      // copies of the logits that the loss holds at once
  /// The same where each rank along tp has its share of the vocabulary; below 0: the same number.
  double split_loss_bytes_per_logit = -1;
  double loss_gap_bytes_per_logit = 0;  // free, between copies of the logits that do not fit in
  bool trees = false;  // NCCL before 2.22: communicators connect trees too, used or not
  Bytes buckets;       // flat communication buffers

  /// What is left of it where memory is short: PyTorch's allocator gives cached segments back
  /// before it fails. At most 4 % then: assumed.
  double least_fragmentation() const { return std::min(fragmentation, 0.04); }

  bool operator==(const FrameworkMemory&) const = default;
};

}  // namespace plait
