// Instead of realrun/transport/nccl, in builds without NCCL's headers.

#include "core/error.h"
#include "realrun/compute/cuda/direct.h"
#include "realrun/compute/cuda/traffic.h"

namespace plait::cuda {
namespace {

[[noreturn]] void refuse() {
  throw EnvironmentError(
      "this build has no NCCL: install it (nccl.h, libnccl.so.2) and build again, or leave "
      "--collectives library out");
}

}  // namespace

std::unique_ptr<Direct> nccl_between(const Plan&, Transport&, const GpuShare&) { refuse(); }
std::unique_ptr<GpuComm> nccl_comm(Transport&, const std::vector<RankGroup>&, std::int64_t) {
  refuse();
}
std::unique_ptr<Traffic> nccl_traffic(Transport&, std::int64_t) { refuse(); }
std::string nccl_version() { refuse(); }

}  // namespace plait::cuda
