#include <algorithm>

#include "realrun/compute/cuda/direct.h"
#include "realrun/compute/cuda/shared_gpu.h"
#include "realrun/transport/nccl/nccl_comm.h"
#include "realrun/transport/nccl/nccl_exchange.h"
#include "realrun/transport/nccl/nccl_traffic.h"

namespace plait::cuda {
namespace {

/// What comes in at once on a server: pushes, all of one stream, follow one another.
std::size_t pushed_bytes(const Plan& plan, const Rank& rank) {
  if (rank.served_share < 0) return 0;
  Bytes most(0);
  for (const Block& block : plan.blocks) {
    for (const Op& op : block.ops) {
      const Collective* c = std::get_if<Collective>(&op.body);
      if (c == nullptr || c->kind != CollectiveKind::kPush) continue;
      const std::int64_t workers = c->servers.workers(plan.mesh.size_of(c->axes));
      most = std::max(most, plan.tensors[op.operands[1].tensor].bytes(plan.mesh) * workers);
    }
  }
  return static_cast<std::size_t>(most.value);
}

class Nccl : public Direct {
 public:
  Nccl(const Plan& plan, Transport& transport, const GpuShare& gpu)
      : rank_(transport.rank()),
        room_(device_block(pushed_bytes(plan, Rank(plan, rank_)))),
        addends_{gpu.multiprocessors(), room_.get()},
        groups_(nccl::api(), nccl::splits_of(plan), transport) {}
  std::unique_ptr<Communication> exchange(const Lane& lane, const Exchange& exchange,
                                          const Operands& operands, const std::vector<DType>& types,
                                          const std::string& what) override {
    return std::make_unique<nccl::NcclExchange>(groups_, addends_, rank_, lane, exchange, operands,
                                                types, what);
  }

 private:
  std::int64_t rank_;
  DeviceBlock room_;
  nccl::Addends addends_;
  nccl::Groups groups_;
};

}  // namespace

std::unique_ptr<Direct> nccl_between(const Plan& plan, Transport& transport, const GpuShare& gpu) {
  return std::make_unique<Nccl>(plan, transport, gpu);
}

std::unique_ptr<GpuComm> nccl_comm(Transport& transport, const std::vector<RankGroup>& groups,
                                   std::int64_t bytes) {
  return std::make_unique<nccl::NcclComm>(transport, groups, bytes);
}

std::unique_ptr<Traffic> nccl_traffic(Transport& transport, std::int64_t bytes) {
  return std::make_unique<nccl::NcclTraffic>(transport, bytes);
}

std::string nccl_version() { return nccl::api().version_text(); }

}  // namespace plait::cuda
