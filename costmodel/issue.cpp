#include "costmodel/issue.h"

namespace plait {
namespace {

/// Kernels as Megatron-LM's layers launch them in PyTorch (megatron/model/transformer.py,
/// fused_softmax.py, fused_bias_gelu.py and mpu/ of 2021); where that has no such layer, the plain
/// tensor expression. The gradient of a parameter is one more: autograd adds it to the sum over the
/// microbatches by itself.
struct HostCalls {
  int operator()(const MatMul& m) const {
    const int weight_grad = 2 + (m.bias ? 2 : 0);  // product, its sum; the bias likewise
    switch (m.pass) {
      case Pass::kForward:
      case Pass::kInputGrad:
      case Pass::kOptimizer: return 1;
      case Pass::kWeightGrad: return weight_grad;
      case Pass::kBackward: return 1 + weight_grad;
    }
    return 1;
  }
  /// Unfused, forward: QK^T, scaled and masked softmax, PV, and the transpose of the context.
  /// Backward: two products for each of the two, the scale of dQ and dK, softmax, and the
  /// concatenation of dQ, dK and dV. Dropout comes under a random state of its own, which is read
  /// and set before and after. Fused backward has a pass before, for rowsum(dO O).
  int operator()(const Attention& a) const {
    const bool forward = a.pass == Pass::kForward;
    if (a.fused) return forward ? 1 : 2;
    return forward ? 4 + (a.dropout ? 1 + 4 : 0) : 8 + (a.dropout ? 1 : 0);
  }
  /// One kernel; backward one call and the sums of the gradients of gamma and, of LayerNorm, beta.
  int operator()(const Norm& n) const {
    const bool sums = n.pass == Pass::kBackward || n.pass == Pass::kWeightGrad;
    return 1 + (sums ? (n.kind == NormKind::kLayerNorm ? 2 : 1) : 0);
  }
  /// Gated: f and the product; backward f', two products, and the concatenation of both halves.
  int operator()(const Activation& a) const {
    if (!a.gated) return 1;
    return a.pass == Pass::kForward ? 2 : 4;
  }
  /// x cos + rotate_half(x) sin of queries and of keys: negation, concatenation, two products and a
  /// sum of each.
  int operator()(const Rope&) const { return 10; }
  /// Lookup; with positions a second one, and the sum. Backward: scatter and sum of each table.
  int operator()(const Embedding& e) const {
    if (e.pass == Pass::kForward) return e.learned_positions ? 3 : 1;
    return e.learned_positions ? 4 : 2;
  }
  /// The vocabulary-parallel loss, step by step. Sums: shifted logits; which targets are here
  /// (two comparisons, or), their local index and its mask; lookup and mask; exp and sum.
  int operator()(const CrossEntropy& c) const {
    switch (c.step) {
      case CrossEntropy::Step::kRowMax: return 1;
      case CrossEntropy::Step::kSums: return 10;
      case CrossEntropy::Step::kLoss: return 3;      // log, difference, mean
      case CrossEntropy::Step::kGradient: return 3;  // softmax, minus one-hot, times dloss
    }
    return 1;
  }
  /// Top-k, softmax, the map of tokens and experts (zeros, scatter), tokens per expert, and their
  /// order; backward softmax and scatter (Megatron-LM megatron/core/transformer/moe/moe_utils.py).
  int operator()(const Route& r) const { return r.pass == Pass::kForward ? 10 : 3; }
  /// Rows by index.
  int operator()(const Dispatch&) const { return 2; }
  /// Product with the gates, and the sum into zeros; backward also their gradients.
  int operator()(const Combine& c) const { return c.pass == Pass::kForward ? 3 : 4; }
  int operator()(const Add&) const { return 1; }       // with bias and dropout: one scripted kernel
  int operator()(const BiasGrad&) const { return 2; }  // column sums, and their sum
  int operator()(const Cast&) const { return 1; }
  int operator()(const Fill&) const { return 1; }
  int operator()(const SquaredNorm&) const { return 2; }  // per block of threads, and of all
  int operator()(const Adam&) const { return 1; }         // multi-tensor: all parameters at once
};

Seconds issue_time(const Op& op, const Host& host) {
  if (const Compute* c = std::get_if<Compute>(&op.body)) return host.launch_time * host_calls(*c);
  if (std::holds_alternative<Copy>(op.body)) return host.launch_time;
  return host.collective_time;
}

}  // namespace

int host_calls(const Compute& op) { return std::visit(HostCalls{}, op); }

std::vector<Seconds> issue_times(const Block& block, const Host& host) {
  std::vector<Seconds> out(block.ops.size());
  if (host.graphs) {
    if (!out.empty()) out[0] = host.launch_time;
    return out;
  }
  bool recomputes = false;
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    const bool again = block.ops[i].phase == Phase::kRecompute;
    out[i] = issue_time(block.ops[i], host);
    if (again && !recomputes) out[i] += host.launch_time * kCheckpointCalls;
    recomputes = again;
  }
  return out;
}

bool waits_after(const Op& op, const Host& host) {
  return host.waits_for_messages &&
         (std::holds_alternative<Send>(op.body) || std::holds_alternative<Recv>(op.body));
}

}  // namespace plait
