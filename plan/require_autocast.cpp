#include "plan/require_autocast.h"

#include "plan/refusal.h"
#include "plan/schedule.h"

namespace plait {
namespace {

/// Another type would be cast to fp32 by what autocast runs in it, the loss among that.
void require_types(const Precision& p) {
  const char* other = p.weights != DType::kFp32 && p.weights != DType::kFp64
                          ? "workload.precision.weights"
                      : p.narrows()     ? "workload.precision.matmul"
                      : p.narrow_logits ? "workload.precision.narrow_logits"
                                        : nullptr;
  if (other == nullptr) return;
  throw refusal("S196", "autocast reads parameters and logits in fp32", other,
                "weights in fp32, products in no other type and no narrow logits with "
                "workload.precision.autocast",
                "set workload.precision to {\"weights\": \"fp32\", \"autocast\": \"bf16\"}, or "
                "remove autocast",
                {"workload.precision.autocast"});
}

/// Kernels that choose types by themselves, and what casts weights on its own.
void require_beside(const Model& m, const Workload& w, const Strategy& s) {
  const char* other = m.experts > 0                              ? "model.experts"
                      : m.recurrent_layers() > 0                 ? "model.layer_pattern"
                      : m.mtp_layers > 0                         ? "model.mtp_layers"
                      : w.loss_pieces > 1                        ? "workload.loss_pieces"
                      : w.lora.quantizes()                       ? "workload.lora.frozen"
                      : s.zero_stage >= 3                        ? "strategy.zero_stage"
                      : s.parameter_server.any()                 ? "strategy.parameter_server"
                      : s.tensor.overlap == TensorOverlap::kRing ? "strategy.tensor.overlap"
                      : s.tensor.copied_inputs                   ? "strategy.tensor.copied_inputs"
                      : splits_backward(s.pipeline.schedule)     ? "strategy.pipeline.schedule"
                                                                 : nullptr;
  if (other == nullptr) return;
  throw refusal("S196", "autocast is not planned beside " + std::string(other), other,
                "no experts, layers with states, modules that predict further tokens, loss in "
                "pieces, nf4, zero_stage 3, parameter servers, products in pieces, copied inputs "
                "or backward passes in two with workload.precision.autocast",
                "change it, or set workload.precision to \"bf16\": weights in 16 bits beside a "
                "master in fp32, as FSDP and DeepSpeed have them");
}

}  // namespace

void require_autocast(const Model& m, const Workload& w, const Strategy& s) {
  if (!w.precision.autocast) return;
  require_types(w.precision);
  require_beside(m, w, s);
}

}  // namespace plait
