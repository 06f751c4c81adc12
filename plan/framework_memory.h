#pragma once
// Device memory that a training framework takes beyond the tensors of the plan.

#include "core/quantity.h"

namespace plait {

struct FrameworkMemory {
  Bytes context = Bytes(512 << 20);  // driver context and loaded kernels
  double fragmentation = 0.04;       // of the live peak, reserved by the allocator and not usable
  double step_bytes_per_parameter = 0;  // temporaries of the optimizer step, per updated parameter
  double loss_bytes_per_logit = 0;      // copies of the logits that the loss holds at once
  Bytes buckets;                        // flat communication buffers

  bool operator==(const FrameworkMemory&) const = default;
};

}  // namespace plait
