// The fixed vocabulary by which reports, traces and printed plans call things.
#include "plan/op.h"
#include "plan/schedule.h"
#include "plan/strategy.h"
#include "plan/tensor.h"
#include "plan/workload.h"

namespace plait {

std::string_view name_of(TensorClass c) {
  switch (c) {
    case TensorClass::kWeight: return "weight";
    case TensorClass::kGradient: return "gradient";
    case TensorClass::kOptimizer: return "optimizer";
    case TensorClass::kActivation: return "activation";
    case TensorClass::kKvCache: return "kv_cache";
    case TensorClass::kBuffer: return "buffer";
  }
  return "?";
}

std::string_view name_of(NarrowWeights narrow) {
  switch (narrow) {
    case NarrowWeights::kNone: return "none";
    case NarrowWeights::kKept: return "kept";
    case NarrowWeights::kGathered: return "gathered";
  }
  return "?";
}

std::string_view name_of(Scales scales) {
  switch (scales) {
    case Scales::kTensor: return "tensor";
    case Scales::kRow: return "row";
  }
  return "?";
}

std::string_view name_of(FrozenWeights frozen) {
  switch (frozen) {
    case FrozenWeights::kPlain: return "plain";
    case FrozenWeights::kNf4: return "nf4";
  }
  return "?";
}

std::string_view name_of(AdapterTarget target) {
  switch (target) {
    case AdapterTarget::kQkv: return "qkv";
    case AdapterTarget::kQ: return "q";
    case AdapterTarget::kK: return "k";
    case AdapterTarget::kV: return "v";
    case AdapterTarget::kOut: return "out";
    case AdapterTarget::kUp: return "up";
    case AdapterTarget::kGateHalf: return "gate_half";
    case AdapterTarget::kUpHalf: return "up_half";
    case AdapterTarget::kDown: return "down";
  }
  return "?";
}

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return "all_reduce";
    case CollectiveKind::kAllGather: return "all_gather";
    case CollectiveKind::kReduceScatter: return "reduce_scatter";
    case CollectiveKind::kAllToAll: return "all_to_all";
    case CollectiveKind::kBroadcast: return "broadcast";
    case CollectiveKind::kShift: return "shift";
    case CollectiveKind::kPush: return "push";
    case CollectiveKind::kPull: return "pull";
  }
  return "?";
}

std::string_view name_of(Stream stream) {
  switch (stream) {
    case Stream::kCompute: return "compute";
    case Stream::kTp: return "tp";
    case Stream::kGradSync: return "grad_sync";
    case Stream::kParamGather: return "param_gather";
    case Stream::kSendForward: return "send_forward";
    case Stream::kRecvForward: return "recv_forward";
    case Stream::kSendBackward: return "send_backward";
    case Stream::kRecvBackward: return "recv_backward";
    case Stream::kHostToDevice: return "host_to_device";
    case Stream::kDeviceToHost: return "device_to_host";
    case Stream::kCp: return "cp";
    case Stream::kEp: return "ep";
    case Stream::kHost: return "host";
    case Stream::kStorageRead: return "storage_read";
    case Stream::kStorageWrite: return "storage_write";
  }
  return "?";
}

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::kForward: return "forward";
    case Phase::kBackward: return "backward";
    case Phase::kWeightGrad: return "weight_grad";
    case Phase::kRecompute: return "recompute";
    case Phase::kGradSync: return "grad_sync";
    case Phase::kParamGather: return "param_gather";
    case Phase::kOptimizer: return "optimizer";
  }
  return "?";
}

namespace {
struct NameOfBody {
  std::string_view operator()(const Compute& c) const { return kernel_name(c); }
  std::string_view operator()(const Collective& c) const { return name_of(c.kind); }
  std::string_view operator()(const Send&) const { return "send"; }
  std::string_view operator()(const Recv&) const { return "recv"; }
  std::string_view operator()(const Copy&) const { return "copy"; }
};
}  // namespace

std::string_view name_of(const Op& op) { return std::visit(NameOfBody{}, op.body); }

std::string_view name_of(Schedule schedule) { return kind_of(schedule).name; }

std::string_view name_of(NoSync when) {
  switch (when) {
    case NoSync::kNever: return "never";
    case NoSync::kPipelines: return "pipelines";
    case NoSync::kPipelines2024: return "pipelines_2024";
    case NoSync::kAlways: return "always";
  }
  return "?";
}

std::string_view name_of(ReplicaSums when) {
  switch (when) {
    case ReplicaSums::kEachMicrobatch: return "each_microbatch";
    case ReplicaSums::kLastMicrobatch: return "last_microbatch";
  }
  return "?";
}

std::string_view name_of(FsdpCopies copies) {
  switch (copies) {
    case FsdpCopies::kNone: return "none";
    case FsdpCopies::kFsdp1: return "fsdp1";
    case FsdpCopies::kFsdp2: return "fsdp2";
    case FsdpCopies::kDeepSpeed: return "deepspeed";
  }
  return "?";
}

std::string_view name_of(ContextKind kind) {
  switch (kind) {
    case ContextKind::kAllGather: return "all_gather";
    case ContextKind::kUlysses: return "ulysses";
    case ContextKind::kRing: return "ring";
    case ContextKind::kHybrid: return "hybrid";
  }
  return "?";
}

std::string_view name_of(BlockingSends sends) {
  switch (sends) {
    case BlockingSends::kNone: return "none";
    case BlockingSends::kPlain: return "plain";
    case BlockingSends::kAll: return "all";
  }
  return "?";
}

std::string_view name_of(ExchangeOverlap overlap) {
  switch (overlap) {
    case ExchangeOverlap::kSchedule: return "schedule";
    case ExchangeOverlap::kNone: return "none";
    case ExchangeOverlap::kPasses: return "passes";
  }
  return "?";
}

std::string_view name_of(TensorOverlap overlap) {
  switch (overlap) {
    case TensorOverlap::kNone: return "none";
    case TensorOverlap::kWeightGrad: return "weight-grad";
    case TensorOverlap::kRing: return "ring";
  }
  return "?";
}

std::string_view name_of(Offload place) {
  switch (place) {
    case Offload::kNone: return "none";
    case Offload::kCpu: return "cpu";
    case Offload::kNvme: return "nvme";
  }
  return "?";
}

std::string_view name_of(KeptResult result) {
  switch (result) {
    case KeptResult::kQkv: return "qkv";
    case KeptResult::kAttention: return "attention";
    case KeptResult::kOut: return "out";
    case KeptResult::kUp: return "up";
    case KeptResult::kDown: return "down";
  }
  return "?";
}

std::string_view name_of(RecomputeModule module) {
  switch (module) {
    case RecomputeModule::kNorms: return "norms";
    case RecomputeModule::kLatents: return "latents";
    case RecomputeModule::kActivations: return "activations";
    case RecomputeModule::kExpertActivations: return "expert-activations";
    case RecomputeModule::kMlp: return "mlp";
    case RecomputeModule::kSharedExperts: return "shared-experts";
    case RecomputeModule::kMoe: return "moe";
    case RecomputeModule::kAttention: return "attention";
  }
  return "?";
}

std::string_view name_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::kNone: return "none";
    case Recompute::kSelective: return "selective";
    case Recompute::kModules: return "modules";
    case Recompute::kOps: return "ops";
    case Recompute::kFull: return "full";
  }
  return "?";
}

}  // namespace plait
