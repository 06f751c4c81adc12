// Instead of realrun/transport/nccl, in builds without NCCL's headers.

#include "core/error.h"
#include "realrun/compute/cuda/direct.h"

namespace plait::cuda {

std::unique_ptr<Direct> nccl_between(const Plan&, Transport&) {
  throw EnvironmentError(
      "this build has no NCCL: install it (nccl.h, libnccl.so.2) and build again, or leave "
      "--collectives library out");
}

}  // namespace plait::cuda
