#include "realrun/compute/cuda/direct.h"
#include "realrun/transport/nccl/nccl_exchange.h"

namespace plait::cuda {
namespace {

class Nccl : public Direct {
 public:
  Nccl(const Plan& plan, Transport& transport)
      : rank_(transport.rank()), groups_(nccl::api(), plan, transport) {}
  std::unique_ptr<Communication> exchange(const Lane& lane, const Exchange& exchange,
                                          const Operands& operands, const std::vector<DType>& types,
                                          const std::string& what) override {
    return std::make_unique<nccl::NcclExchange>(groups_, rank_, lane, exchange, operands, types,
                                                what);
  }

 private:
  std::int64_t rank_;
  nccl::Groups groups_;
};

}  // namespace

std::unique_ptr<Direct> nccl_between(const Plan& plan, Transport& transport) {
  return std::make_unique<Nccl>(plan, transport);
}

}  // namespace plait::cuda
