#include "model/op.h"

namespace plait {
namespace {

double product(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c) *
         static_cast<double>(d);
}

Flops matmul_flops(const MatMul& op) { return Flops(2 * product(op.batch, op.m, op.n, op.k)); }

/// Attention's matrix products over the square: with queries or keys, and with values or results.
struct Products {
  double with_keys = 0, with_values = 0;
};

/// FLOPs over `pairs` of a query and a key, a head's: 2 b a pairs d each.
Flops pair_flops(const Attention& op, double pairs, Products n) {
  const double columns = n.with_keys * static_cast<double>(op.head_dim) +
                         n.with_values * static_cast<double>(op.v_dim());
  const double heads = static_cast<double>(op.batch) * static_cast<double>(op.heads);
  return Flops(2 * heads * pairs * columns);
}

/// Whether the queries stand among the keys. Else they are the last ones of a longer sequence.
bool has_diagonal(const Attention& op) { return op.balanced || op.seq_q == op.seq_kv; }

/// Pairs within the window of queries that are the last ones, or, balanced, of those that see the
/// most: their chunks are the two in the middle.
double windowed_pairs(const Attention& op) {
  const auto w = static_cast<double>(op.window), queries = static_cast<double>(op.seq_q);
  const auto keys = static_cast<double>(op.seq_kv);
  const double end = op.balanced ? (keys + queries) / 2 : keys;
  return (band_of(end, w) - band_of(end - queries, w)) / 2;
}

/// Over the whole square, and over what documents and windows leave of it.
double square(const Attention& op) { return product(1, 1, op.seq_q, op.seq_kv); }
double seen_squares(const Attention& op) {
  if (op.documents.count > 0) return static_cast<double>(op.documents.squares);
  if (!op.windowed()) return square(op);
  return (has_diagonal(op) ? 2 : 1) * windowed_pairs(op);
}

/// Share of the square below the diagonal. Half, not (s + 1) / 2s: the convention of FlashAttention
/// (Dao 2023, arXiv 2307.08691, section 4.1). A rectangle has no diagonal of its own and counts
/// whole.
double causal_share(const Attention& op) { return op.causal && has_diagonal(op) ? 0.5 : 1.0; }

/// Products that the mathematics needs: QK^T and PV forward; dV, dP, dQ and dK backward. Attention
/// has no weights of its own, so its whole backward pass is the input gradient.
Products needed_products(const Attention& op) {
  switch (op.pass) {
    case Pass::kForward: return {1, 1};
    case Pass::kBackward:
    case Pass::kInputGrad: return {2, 2};
    case Pass::kWeightGrad:
    case Pass::kOptimizer: return {};
  }
  return {};
}

Flops attention_flops(const Attention& op) {
  return causal_share(op) * pair_flops(op, seen_squares(op), needed_products(op));
}

/// Fused: the blocks above the diagonal and those outside of a window are skipped, and backward
/// computes QK^T again (Dao et al. 2022, algorithm 4: five products against two, 2.5 times
/// forward). Unfused: the library's batched GEMM fills the whole square and a mask overwrites half
/// of it, and what is between documents or outside of a window.
Flops attention_hardware_flops(const Attention& op) {
  Products products = needed_products(op);
  if (!op.fused) return pair_flops(op, square(op), products);
  if (products.with_values == 2) products.with_keys += 1;
  return causal_share(op) * pair_flops(op, seen_squares(op), products);
}

/// Of a chain of kernels.
Flops flops_of(const std::vector<KernelWork>& kernels, double KernelWork::*count) {
  double sum = 0;
  for (const KernelWork& kernel : kernels) sum += kernel.*count;
  return Flops(sum);
}

struct PassOf {
  Pass operator()(const CrossEntropy& op) const {
    return op.step == CrossEntropy::Step::kGradient ? Pass::kBackward : Pass::kForward;
  }
  Pass operator()(const BiasGrad&) const { return Pass::kWeightGrad; }
  // Parameter-sized ops between two iterations.
  Pass operator()(const Cast&) const { return Pass::kOptimizer; }
  Pass operator()(const Fill&) const { return Pass::kOptimizer; }
  Pass operator()(const SquaredNorm&) const { return Pass::kOptimizer; }
  Pass operator()(const Amax&) const { return Pass::kOptimizer; }
  Pass operator()(const Adam&) const { return Pass::kOptimizer; }
  template <class Op>
  Pass operator()(const Op& op) const {
    return op.pass;
  }
};

struct KernelName {
  std::string_view operator()(const MatMul&) const { return "matmul"; }
  std::string_view operator()(const Attention&) const { return "attention"; }
  std::string_view operator()(const Norm&) const { return "norm"; }
  std::string_view operator()(const HeadNorm&) const { return "head_norm"; }
  std::string_view operator()(const Activation&) const { return "activation"; }
  std::string_view operator()(const Gate&) const { return "gate"; }
  std::string_view operator()(const Rope&) const { return "rope"; }
  std::string_view operator()(const LatentHeads&) const { return "latent_heads"; }
  std::string_view operator()(const CausalConv&) const { return "causal_conv"; }
  std::string_view operator()(const Scan&) const { return "scan"; }
  std::string_view operator()(const DeltaRule&) const { return "delta_rule"; }
  std::string_view operator()(const GatedNorm&) const { return "gated_norm"; }
  std::string_view operator()(const Embedding&) const { return "embedding"; }
  std::string_view operator()(const CrossEntropy&) const { return "cross_entropy"; }
  std::string_view operator()(const Route&) const { return "route"; }
  std::string_view operator()(const Dispatch&) const { return "dispatch"; }
  std::string_view operator()(const Combine&) const { return "combine"; }
  std::string_view operator()(const Add&) const { return "add"; }
  std::string_view operator()(const BiasGrad&) const { return "bias_grad"; }
  std::string_view operator()(const Cast&) const { return "cast"; }
  std::string_view operator()(const Fill&) const { return "fill"; }
  std::string_view operator()(const SquaredNorm&) const { return "squared_norm"; }
  std::string_view operator()(const Amax&) const { return "amax"; }
  std::string_view operator()(const Adam&) const { return "adam"; }
};

}  // namespace

// Only matrix products count. Narayanan et al. 2021 (arXiv 2104.04473, appendix) leave out every
// other operation as negligible, and MFU and HFU follow them; the element-wise ops below are bound
// by memory_traffic.
Flops flops(const Compute& op) {
  if (const auto* matmul = std::get_if<MatMul>(&op)) return matmul_flops(*matmul);
  if (const auto* attention = std::get_if<Attention>(&op)) return attention_flops(*attention);
  if (const auto* scan = std::get_if<Scan>(&op))
    return flops_of(scan_kernels(*scan), &KernelWork::needed);
  if (const auto* rule = std::get_if<DeltaRule>(&op))
    return flops_of(delta_rule_kernels(*rule), &KernelWork::needed);
  return Flops(0);
}

Flops hardware_flops(const Compute& op) {
  if (const auto* attention = std::get_if<Attention>(&op))
    return attention_hardware_flops(*attention);
  if (const auto* scan = std::get_if<Scan>(&op))
    return flops_of(scan_kernels(*scan), &KernelWork::run);
  if (const auto* rule = std::get_if<DeltaRule>(&op))
    return flops_of(delta_rule_kernels(*rule), &KernelWork::run);
  return flops(op);
}

bool uses_matrix_units(const Compute& op) {
  return std::holds_alternative<MatMul>(op) || std::holds_alternative<Attention>(op) ||
         std::holds_alternative<Scan>(op) || std::holds_alternative<DeltaRule>(op);
}

// Element-wise kernels load low precision and compute in fp32 registers.
DType compute_dtype(const Compute& op) {
  if (const auto* matmul = std::get_if<MatMul>(&op)) return matmul->in;
  if (const auto* attention = std::get_if<Attention>(&op)) return attention->dtype;
  if (const auto* scan = std::get_if<Scan>(&op)) return scan->dtype;
  if (const auto* rule = std::get_if<DeltaRule>(&op)) return rule->dtype;
  return DType::kFp32;
}

std::string_view kernel_name(const Compute& op) { return std::visit(KernelName{}, op); }

Pass pass_of(const Compute& op) { return std::visit(PassOf{}, op); }

}  // namespace plait
