#include "plan/require_lora.h"

#include <set>
#include <string>

#include "plan/refusal.h"

namespace plait {
namespace {

void require_targets(const Model& m, const LowRankAdapters& lora) {
  using T = AdapterTarget;
  const std::set<T> named(lora.targets.begin(), lora.targets.end());
  const bool twice = named.size() < lora.targets.size();
  const bool overlap =
      (named.contains(T::kQkv) && (lora.has(T::kQ) || lora.has(T::kK) || lora.has(T::kV))) ||
      (named.contains(T::kUp) && (lora.has(T::kGateHalf) || lora.has(T::kUpHalf)));
  const bool halves = !m.gated_mlp && (lora.has(T::kGateHalf) || lora.has(T::kUpHalf));
  if (!named.empty() && !twice && !overlap && !halves) return;
  throw refusal("S160",
                named.empty() ? "adapters of no products"
                : halves      ? "half of the first product of an MLP that has no gate"
                              : "a product with two adapters",
                "workload.lora.targets",
                "each of qkv or q, k and v; out; up or, gated, gate_half and up_half; down, "
                "once at most",
                "correct workload.lora.targets");
}

/// What of the model, by field.
void require_dense_decoder(const Model& m) {
  const char* other = m.experts > 0                            ? "model.experts"
                      : !m.layer_pattern.empty()               ? "model.layer_pattern"
                      : m.latent_attention()                   ? "model.kv_lora_rank"
                      : m.mtp_layers > 0                       ? "model.mtp_layers"
                      : !m.causal || m.masked_lm_head          ? "model.causal"
                      : m.norm_position == NormPosition::kPost ? "model.norm_position"
                                                               : nullptr;
  if (other == nullptr) return;
  throw refusal("S161",
                "low-rank adapters are planned for decoders of attention and an MLP in each layer",
                other,
                "no experts, latents, patterns of layers, modules that predict further tokens or "
                "encoders with workload.lora",
                "change it, or remove workload.lora", {"workload.lora"});
}

void require_precision(const Precision& p) {
  if (!p.split_master) return;
  throw refusal("S162", "lower halves of master weights of adapters alone",
                "workload.precision.split_master", "whole masters with workload.lora",
                "set workload.precision.split_master to false, or remove workload.lora",
                {"workload.lora"});
}

void require_dropout(const LowRankAdapters& lora) {
  if (lora.dropout < 1) return;
  throw refusal("S160", "adapters that read nothing", "workload.lora.dropout", "0 to below 1",
                "lower workload.lora.dropout");
}

void require_quantizable(const LowRankAdapters& lora, const Precision& p, const Strategy& s) {
  if (!lora.quantizes()) return;
  const char* other = p.narrows() ? "workload.precision.matmul"
                      : s.mesh.size_of(kTensorAxes) > 1 || !s.pipeline.stage_tp.empty()
                          ? "strategy.tp"
                          : nullptr;
  if (other == nullptr) return;
  throw refusal("S165", "frozen weights in nf4 are dequantised whole, for products in their type",
                other,
                "tp = 1 and products that are not narrowed with workload.lora.frozen = \"nf4\"",
                "change it, or set workload.lora.frozen to \"plain\"", {"workload.lora.frozen"});
}

/// What of the strategy, by field.
void require_strategy(const Strategy& s) {
  const ZeroPlusPlusOptions& z = s.zero_plus_plus;
  const bool plus = z.secondary_shard || z.quantized_weights || z.quantized_gradients;
  const char* other = s.recompute.kind == Recompute::kOps        ? "strategy.recompute.kind"
                      : s.tensor.overlap == TensorOverlap::kRing ? "strategy.tensor.overlap"
                      : s.parameter_server.any()                 ? "strategy.parameter_server"
                      : s.offload.state()                        ? "strategy.offload"
                      : plus                                     ? "strategy.zero_plus_plus"
                                                                 : nullptr;
  if (other == nullptr) return;
  throw refusal("S163", "low-rank adapters are not planned beside " + std::string(other), other,
                "no recomputation by op, products in pieces, parameter servers, offloaded state "
                "or ZeRO++ with workload.lora",
                "remove it, or workload.lora");
}

}  // namespace

void require_lora(const Model& m, const Workload& w, const Strategy& s) {
  if (!w.lora.any()) return;
  require_targets(m, w.lora);
  require_dropout(w.lora);
  require_dense_decoder(m);
  require_precision(w.precision);
  require_quantizable(w.lora, w.precision, s);
  require_strategy(s);
}

}  // namespace plait
