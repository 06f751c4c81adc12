#include "reports/profile/kernel_kind.h"

namespace plait {
namespace {

struct KindOfCompute {
  KernelKind operator()(const MatMul&) const { return KernelKind::kMatMul; }
  KernelKind operator()(const Attention&) const { return KernelKind::kAttention; }
  KernelKind operator()(const Norm&) const { return KernelKind::kNorm; }
  KernelKind operator()(const HeadNorm&) const { return KernelKind::kNorm; }
  KernelKind operator()(const GatedNorm&) const { return KernelKind::kNorm; }
  KernelKind operator()(const Activation&) const { return KernelKind::kActivation; }
  KernelKind operator()(const Gate&) const { return KernelKind::kActivation; }
  KernelKind operator()(const Rope&) const { return KernelKind::kRope; }
  KernelKind operator()(const LatentHeads&) const { return KernelKind::kElementwise; }
  KernelKind operator()(const CausalConv&) const { return KernelKind::kRecurrence; }
  KernelKind operator()(const Scan&) const { return KernelKind::kRecurrence; }
  KernelKind operator()(const DeltaRule&) const { return KernelKind::kRecurrence; }
  KernelKind operator()(const Embedding&) const { return KernelKind::kEmbedding; }
  KernelKind operator()(const CrossEntropy&) const { return KernelKind::kCrossEntropy; }
  KernelKind operator()(const Route&) const { return KernelKind::kRouting; }
  KernelKind operator()(const Dispatch&) const { return KernelKind::kRouting; }
  KernelKind operator()(const Combine&) const { return KernelKind::kRouting; }
  KernelKind operator()(const Add&) const { return KernelKind::kResidualAdd; }
  KernelKind operator()(const BiasGrad&) const { return KernelKind::kBiasGradient; }
  KernelKind operator()(const Cast&) const { return KernelKind::kElementwise; }
  KernelKind operator()(const Fill&) const { return KernelKind::kElementwise; }
  KernelKind operator()(const Amax&) const { return KernelKind::kElementwise; }
  KernelKind operator()(const SquaredNorm&) const { return KernelKind::kOptimizer; }
  KernelKind operator()(const Adam&) const { return KernelKind::kOptimizer; }
};

/// A ring of shifts is sends and receives; parameter servers' messages are halves of an all_reduce.
KernelKind kind_in_plan(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return KernelKind::kAllReduce;
    case CollectiveKind::kAllGather: return KernelKind::kAllGather;
    case CollectiveKind::kReduceScatter: return KernelKind::kReduceScatter;
    case CollectiveKind::kAllToAll: return KernelKind::kAllToAll;
    case CollectiveKind::kBroadcast: return KernelKind::kBroadcast;
    case CollectiveKind::kShift: return KernelKind::kSendRecv;
    case CollectiveKind::kPush:
    case CollectiveKind::kPull: return KernelKind::kOtherCommunication;
  }
  return KernelKind::kOtherCommunication;
}

bool on_host(Stream stream) {
  return stream == Stream::kHost || stream == Stream::kStorageRead ||
         stream == Stream::kStorageWrite;
}

}  // namespace

std::string_view name_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::kMatMul: return "matmul";
    case KernelKind::kGradientSum: return "gradient_sum";
    case KernelKind::kBiasGradient: return "bias_gradient";
    case KernelKind::kAttention: return "attention";
    case KernelKind::kNorm: return "norm";
    case KernelKind::kActivation: return "activation";
    case KernelKind::kRope: return "rope";
    case KernelKind::kResidualAdd: return "residual_add";
    case KernelKind::kEmbedding: return "embedding";
    case KernelKind::kCrossEntropy: return "cross_entropy";
    case KernelKind::kRouting: return "routing";
    case KernelKind::kRecurrence: return "recurrence";
    case KernelKind::kElementwise: return "elementwise";
    case KernelKind::kOptimizer: return "optimizer";
    case KernelKind::kUnknown: return "unknown";
    case KernelKind::kAllReduce: return "all_reduce";
    case KernelKind::kAllGather: return "all_gather";
    case KernelKind::kReduceScatter: return "reduce_scatter";
    case KernelKind::kAllToAll: return "all_to_all";
    case KernelKind::kBroadcast: return "broadcast";
    case KernelKind::kSendRecv: return "send_recv";
    case KernelKind::kOtherCommunication: return "other_communication";
    case KernelKind::kCopy: return "copy";
  }
  return "";
}

std::optional<KernelKind> kernel_kind_of(const Op& op) {
  if (on_host(op.stream)) return std::nullopt;
  if (const auto* c = std::get_if<Compute>(&op.body)) return std::visit(KindOfCompute{}, *c);
  if (const auto* c = std::get_if<Collective>(&op.body)) return kind_in_plan(c->kind);
  if (std::holds_alternative<Copy>(op.body)) return KernelKind::kCopy;
  return KernelKind::kSendRecv;
}

double bus_share(KernelKind kind, std::int64_t ranks) {
  if (ranks < 2) return 1;
  const auto n = static_cast<double>(ranks);
  switch (kind) {
    case KernelKind::kAllReduce: return 2 * (n - 1) / n;
    case KernelKind::kAllGather:
    case KernelKind::kReduceScatter:
    case KernelKind::kAllToAll: return (n - 1) / n;
    default: return 1;
  }
}

}  // namespace plait
