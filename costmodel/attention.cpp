#include <algorithm>
#include <cmath>

#include "costmodel/efficiency.h"
#include "costmodel/kernels.h"

namespace plait {
namespace {

// FlashAttention backward runs 5 products where forward runs 2, at 0.85-0.95 of forward's rate
// (published FA2, FA3 and FA4 plots).
constexpr double kBackwardFlops = 2.5;
constexpr double kBackwardRate = 0.9;
// Without a causal mask short sequences fill the device sooner: FA3's published forward rates at
// 512 and 16384 tokens (467 and 648 against 292 and 616 TFLOP/s) give a third of the half length.
constexpr double kFullHalfLength = 0.35;

bool is_backward(Pass pass) { return pass != Pass::kForward; }

// Query-key pairs that the kernel visits; a causal mask is aligned to the last key.
double pairs(const Attention& op) {
  const auto q = static_cast<double>(op.seq_q), kv = static_cast<double>(op.seq_kv);
  if (!op.causal) return q * kv;
  return kv >= q ? q * (kv - q / 2) : q * kv / 2;
}

// Factor of the head dimension: 1 at 128, fitted at 64 and 256, a power law between and constant
// outside.
double head_factor(const AttentionFit& fit, std::int64_t head_dim) {
  const double octaves =
      std::log2(static_cast<double>(std::clamp<std::int64_t>(head_dim, 64, 256))) -
      std::log2(128.0);
  return octaves < 0 ? std::pow(fit.head_64, -octaves) : std::pow(fit.head_256, octaves);
}

// t = t0 + max(F / (P e s / (s + s0)), B / (b BW)), F = 4 d pairs.
Cost fused(const Attention& op, const Device& device) {
  const AttentionFit fit = attention_fit(device);
  const double heads = static_cast<double>(op.batch * op.heads);
  double work = 4 * heads * static_cast<double>(op.head_dim) * pairs(op);
  double rate = fit.flops * head_factor(fit, op.head_dim);
  if (is_backward(op.pass)) {
    work *= kBackwardFlops;
    rate *= kBackwardRate;
  }
  const auto length = static_cast<double>(std::min(op.seq_q, op.seq_kv));
  const double half = fit.half_length * (op.causal ? 1 : kFullHalfLength);
  const Seconds compute = Flops(work) / (device.peak(op.dtype) * (rate * length / (length + half)));
  const Seconds memory = memory_traffic(op) / (device.memory_bandwidth *
                                               stream_fit(device, StreamKind::kCopy).bandwidth);
  return roofline(fixed_time(device, fit.fixed), compute, memory, fit.quality);
}

// Bytes of the element-wise kernels between the products: all traffic but the products' operands.
Cost elementwise(const Attention& op, Bytes products, int kernels, const Device& device) {
  const StreamFit fit = stream_fit(device, StreamKind::kSoftmax);
  const Bytes bytes = std::max(memory_traffic(op) - products, Bytes(0));
  Cost cost;
  cost.provenance = fit.quality.provenance;
  cost.band = fit.quality.band;
  cost.share[kLaunchOverhead] = fixed_time(device, fit.fixed) * kernels;
  cost.share[kMemoryBandwidth] = bytes / (device.memory_bandwidth * fit.bandwidth);
  return cost;
}

// Forward: S = Q K^T, P = softmax(mask(S)), O = P V. Backward: dP = dO V^T, dV = P^T dO, dS from P
// and dP, dQ = dS K, dK = dS^T Q. The products do not know the causal mask.
Cost unfused(const Attention& op, const Device& device) {
  const MatMul scores{.batch = op.batch * op.heads,
                      .m = op.seq_q,
                      .n = op.seq_kv,
                      .k = op.head_dim,
                      .in = op.dtype,
                      .out = op.dtype};
  const MatMul values{.batch = op.batch * op.heads,
                      .m = op.seq_q,
                      .n = op.head_dim,
                      .k = op.seq_kv,
                      .in = op.dtype,
                      .out = op.dtype};
  const MatMul keys{.batch = op.batch * op.heads,
                    .m = op.seq_kv,
                    .n = op.head_dim,
                    .k = op.seq_q,
                    .in = op.dtype,
                    .out = op.dtype};
  Cost cost = gemm_cost(scores, device) + gemm_cost(values, device);
  Bytes products = memory_traffic(scores) + memory_traffic(values);
  if (is_backward(op.pass)) {
    cost = cost + gemm_cost(keys, device) + gemm_cost(keys, device);
    products += memory_traffic(keys) * 2;
  }
  return cost + elementwise(op, products, op.dropout ? 2 : 1, device);
}

}  // namespace

Cost attention_cost(const Attention& op, const Device& device) {
  if (op.pass == Pass::kWeightGrad || op.batch == 0 || op.heads == 0 || op.seq_q == 0 ||
      op.seq_kv == 0)
    return {};
  return op.fused ? fused(op, device) : unfused(op, device);
}

}  // namespace plait
