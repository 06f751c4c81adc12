#include "costmodel/costmodel.h"

#include "costmodel/block_scales.h"
#include "costmodel/calibration_cost.h"
#include "costmodel/casts.h"
#include "costmodel/chain_cost.h"
#include "costmodel/collectives.h"
#include "costmodel/deepep.h"
#include "costmodel/eager.h"
#include "costmodel/kernels.h"
#include "costmodel/launches.h"
#include "costmodel/one_shot.h"
#include "costmodel/power_limit.h"
#include "costmodel/product_cost.h"
#include "costmodel/projections.h"
#include "costmodel/single_loss.h"
#include "costmodel/torch_rows.h"
#include "costmodel/transfer.h"

namespace plait {

std::string_view name_of(Algorithm a) {
  switch (a) {
    case Algorithm::kRing: return "ring";
    case Algorithm::kTree: return "tree";
    case Algorithm::kNvls: return "nvls";
    case Algorithm::kNvlsTree: return "nvls_tree";
    case Algorithm::kPat: return "pat";
    case Algorithm::kPairwise: return "pairwise";
    case Algorithm::kOneShot: return "one_shot";
    case Algorithm::kPeerCopies: return "peer_copies";
    case Algorithm::kDeepEp: return "deepep";
    case Algorithm::kDirect: return "direct";
    case Algorithm::kRecursiveDoubling: return "recursive_doubling";
    case Algorithm::kBinomial: return "binomial";
  }
  return "?";
}

std::string_view name_of(Protocol p) {
  switch (p) {
    case Protocol::kLl: return "ll";
    case Protocol::kLl128: return "ll128";
    case Protocol::kSimple: return "simple";
  }
  return "?";
}

namespace {

bool finds_scales_of_blocks(const Compute& op, const Kernels& kernels) {
  const Cast* cast = std::get_if<Cast>(&op);
  return kernels.amax == Fusion::kBlocks && cast != nullptr && finds_scale(*cast);
}

/// What is known of Adam on a processor is of it as a whole.
Kernels kernels_on(const Device& device, const Compute& op, Kernels kernels) {
  if (std::holds_alternative<Adam>(op) && generation_of(device) == Generation::kCpu)
    kernels.optimizer = Fusion::kFused;
  return kernels;
}

/// Adds up what kernels take on a device that is as fast as those that constants were fitted to.
class Times : public Launches {
 public:
  Times(const Device& device, const Kernels& kernels) : device_(device), kernels_(kernels) {}
  Cost sum() const { return sum_; }
  void kernel(const Compute& op, int /*calls*/) override { add(cost(op)); }
  void chain(const KernelChain& chain) override { add(chain_cost(chain, device_)); }
  void calls(std::int64_t /*count*/) override {}

 private:
  void add(const Cost& cost) { sum_ = sum_ + cost; }
  Cost cost(const Compute& op) const {
    if (const auto* product = std::get_if<MatMul>(&op))
      return product_cost(*product, device_, kernels_);
    if (const auto* attention = std::get_if<Attention>(&op)) {
      Cost cost = attention_cost(*attention, device_, kernels_.softmax);
      cost.share[kPeakFlops] = cost.share[kPeakFlops] * attention_slowed_by_power(device_);
      return cost;
    }
    if (const auto* cast = std::get_if<Cast>(&op); cast && is_to_nvfp4(*cast))
      return nvfp4_cast_cost(*cast, device_);
    if (is_of_recurrence(op)) return recurrence_cost(op, device_);
    if (const std::optional<Cost> own = torch_rows_cost(op, device_, kernels_)) return *own;
    const Cost cost = memory_bound_cost(op, device_);
    return finds_scales_of_blocks(op, kernels_) ? block_scaled_cast(device_) * cost : cost;
  }

  const Device& device_;
  const Kernels& kernels_;
  Cost sum_;
};

/// Adds up what kernels move.
class Traffic : public Launches {
 public:
  explicit Traffic(const Device& device) : device_(device) {}
  Bytes sum() const { return sum_; }
  void kernel(const Compute& op, int /*calls*/) override {
    const Cast* cast = std::get_if<Cast>(&op);
    const bool narrows = cast != nullptr && is_to_nvfp4(*cast);
    sum_ += narrows ? nvfp4_cast_bytes(*cast) : uncached(memory_traffic(op), device_);
  }
  void chain(const KernelChain& chain) override { sum_ += chain.bytes; }
  void calls(std::int64_t /*count*/) override {}

 private:
  const Device& device_;
  Bytes sum_;
};

Cost typical_cost(const Compute& op, const Device& device, const Kernels& kernels) {
  // Norms by PyTorch's own kernels, of which the chain's bytes alone say less.
  if (const std::optional<Cost> own = torch_rows_cost(op, device, kernels)) return *own;
  Times times(device, kernels);
  launch(op, kernels, times);
  return times.sum();
}

}  // namespace

Cost CostModel::compute(const Compute& op, const Device& device) const {
  if (is_done_elsewhere(op, kernels)) return {};
  if (calibration != nullptr && memory_traffic(op).value > 0) {
    const std::optional<Cost> fitted = fitted_cost(op, *calibration, device);
    const bool alone = std::holds_alternative<MatMul>(op) && !calibration->in_steps;
    if (fitted) return (alone ? between_other_kernels(device) : 1) * *fitted;
  }
  Cost cost = typical_cost(op, device, kernels_on(device, op, kernels));
  if (generation_of(device) != Generation::kCpu) {
    cost.share[kPeakFlops] = cost.share[kPeakFlops] * slowest;
  }
  return cost;
}

Bytes CostModel::memory_bytes(const Compute& op, const Device& device) const {
  Traffic traffic(device);
  launch(op, kernels_on(device, op, kernels), traffic);
  return traffic.sum();
}

CollectiveCost CostModel::collective(const Collective& op, const GroupPlacement& group,
                                     const Cluster& cluster) const {
  if (op.servers.any()) return push_pull_cost(op.bytes(), op.servers, group, cluster);
  const Device& device = cluster.kind(group.kind).device;
  if (kernels.exchange == Dispatcher::kDeepEp) {
    if (const std::optional<Cost> own = deepep_cost(op, group, device))
      return {*own, Algorithm::kDeepEp, Protocol::kSimple};
  }
  if (one_peer_at_a_time && op.axes.has(Axis::kTp)) return peer_copies_cost(op, group);
  CollectiveCost nccl = collective_cost(op.kind, op.bytes(), group, cluster, selection);
  if (const std::int64_t times = all_reduces_of(op, kernels); times > 1)
    nccl.cost = static_cast<double>(times) * nccl.cost;
  if (const KernelChain copy = sequence_chain(op, kernels); copy.kernels > 0)
    nccl.cost = nccl.cost + stream_cost(copy.bytes, copy.kernels, StreamKind::kCopy, device);
  if (engine_all_reduce == EngineReduce::kNone || op.kind != CollectiveKind::kAllReduce)
    return nccl;
  const std::optional<Cost> own = one_shot_cost(engine_all_reduce, op.bytes(), group, device);
  if (!own || own->total() >= nccl.cost.total()) return nccl;
  return {*own, Algorithm::kOneShot, Protocol::kSimple};
}

Cost CostModel::transfer(Bytes bytes, const Path& path) const { return message_cost(bytes, path); }

Cost CostModel::copy(const Copy& op, const NodeKind& node, std::int64_t sharers) const {
  if (op.from != Place::kStorage && op.to != Place::kStorage) return host_copy_cost(op.bytes, node);
  require_storage(machine);
  const bool writes = op.to == Place::kStorage && machine.storage_write_bandwidth.value > 0;
  const BytesPerSecond all = writes ? machine.storage_write_bandwidth : machine.storage_bandwidth;
  return storage_cost(op.bytes, all / static_cast<double>(sharers));
}

}  // namespace plait
