#include "costmodel/issue.h"

#include <algorithm>
#include <span>

#include "costmodel/gradient_sums.h"
#include "costmodel/projections.h"
#include "costmodel/scores.h"
#include "costmodel/single_loss.h"

namespace plait {
namespace {

template <class Body>
const Body* computed(const Op& op) {
  const Compute* c = std::get_if<Compute>(&op.body);
  return c == nullptr ? nullptr : std::get_if<Body>(c);
}

template <class Body>
bool is_forward(const Op& op) {
  const Body* body = computed<Body>(op);
  return body != nullptr && body->pass == Pass::kForward;
}

/// Kernels as Megatron-LM's layers launch them in PyTorch (megatron/model/transformer.py,
/// fused_softmax.py, fused_bias_gelu.py and mpu/ of 2021); where that has no such layer, the plain
/// tensor expression. The gradient of a parameter is one more: autograd adds it to the sum over the
/// microbatches by itself.
struct HostCalls {
  const Kernels& kernels;
  static constexpr int kCounts = 7, kCopiesToHost = 4 + 2 + 1;

  int operator()(const MatMul& m) const {
    const int products = as_run(m, kernels).count, sums = m.autocast ? 0 : products - 1;
    // Product, its sum; the bias likewise. By autocast the sums are the casts'.
    const int weight_grad = products * (m.autocast ? 1 + (m.bias ? 1 : 0) : 2 + (m.bias ? 2 : 0));
    // Of the experts' two products the second has a bias of its own: times the gates, its sum;
    // backward a cast, a product and a sum for the bias and for the gates, and the sum over the
    // microbatches. Half of it for each of the two.
    const bool biased = m.batch > 1 && kernels.expert_bias == Fusion::kEager;
    switch (m.pass) {
      case Pass::kForward: return products + (biased ? 1 : 0);
      case Pass::kInputGrad: return products * (m.rescaled ? 2 : 1) + sums + (biased ? 3 : 0);
      case Pass::kOptimizer: return 1;
      case Pass::kWeightGrad: return weight_grad + (m.rescaled ? products : 0);
      case Pass::kBackward: return 1 + (biased ? 3 : 0) + weight_grad;
    }
    return 1;
  }
  /// Unfused, forward: QK^T, scaled and masked softmax (score_calls), PV, and the transpose of the
  /// context. Backward: two products for each of the two, the scale of dQ and dK, softmax, and the
  /// concatenation of dQ, dK and dV. Dropout comes under a random state of its own, which is read
  /// and set before and after. Fused backward has a pass before, for rowsum(dO O).
  int operator()(const Attention& a) const {
    const bool forward = a.pass == Pass::kForward;
    if (a.fused) return forward ? 1 : 2;
    const int dropout = a.dropout ? (forward ? 1 + 4 : 1) : 0;
    return (forward ? 3 : 7) + score_calls(a, kernels.softmax) + dropout;
  }
  /// One kernel; backward one call and the sums of the gradients of gamma and, of LayerNorm, beta.
  int operator()(const Norm& n) const {
    const bool sums = n.pass == Pass::kBackward || n.pass == Pass::kWeightGrad;
    return 1 + (sums ? (n.kind == NormKind::kLayerNorm ? 2 : 1) : 0);
  }
  /// Queries and keys.
  int operator()(const HeadNorm& n) const { return 2 * (*this)(norm_of_heads(n)); }
  /// Gated: f and the product; backward f', two products, and the concatenation of both halves.
  int operator()(const Activation& a) const {
    if (!a.gated) return 1;
    return a.pass == Pass::kForward ? 2 : 4;
  }
  /// x cos + rotate_half(x) sin of queries and of keys: negation, concatenation, two products and a
  /// sum of each; promoted, a cast of each.
  int operator()(const Rope& r) const { return r.promoted ? 12 : 10; }
  /// megatron/core/transformer/multi_latent_attention.py: queries and keys concatenated, values
  /// copied; backward, the gradients of the halves concatenated again, and the sum over the heads.
  int operator()(const LatentHeads&) const { return 3; }
  /// Sigmoid and product; backward two products and the sigmoid's, and the sums of a row's gate.
  int operator()(const Gate& g) const {
    return g.pass == Pass::kForward ? 2 : 3 + (g.per_row ? 1 : 0);
  }
  /// mamba_ssm's fused layer calls its kernels from one autograd function: a convolution; those of
  /// scan_kernels, as flash-linear-attention's does those of delta_rule_kernels; one norm, backward
  /// also the sums of gamma's gradient.
  int operator()(const CausalConv&) const { return 1; }
  int operator()(const Scan& s) const { return static_cast<int>(scan_kernels(s).size()); }
  int operator()(const DeltaRule& d) const {
    return static_cast<int>(delta_rule_kernels(d).size());
  }
  int operator()(const GatedNorm& n) const { return n.pass == Pass::kForward ? 1 : 2; }
  /// Lookup; with positions a second one, and the sum. Backward: scatter and sum of each table, and
  /// zeros before.
  int operator()(const Embedding& e) const {
    if (e.pass == Pass::kForward) return e.learned_positions ? 3 : 1;
    const int table = table_gradient_chain(e, kernels).kernels > 0 ? 3 : 2;
    return e.learned_positions ? 2 * table : table;
  }
  /// The vocabulary-parallel loss, step by step. Sums: shifted logits; which targets are here
  /// (two comparisons, or), their local index and its mask; lookup and mask; exp and sum.
  int operator()(const CrossEntropy& c) const {
    switch (c.step) {
      case CrossEntropy::Step::kRowMax: return 1;
      case CrossEntropy::Step::kSums: return 10;
      case CrossEntropy::Step::kLoss:      // log, difference, mean
      case CrossEntropy::Step::kGradient:  // softmax, minus one-hot, times dloss
        return 3;
    }
    return 1;
  }
  /// Megatron-LM, megatron/core/transformer/moe/: router.py and moe_utils.py choose and balance,
  /// token_dispatcher.py counts. Choice: top-k, softmax and its cast, two maps of tokens and
  /// experts (zeros, scatter; zeros, cast, scatter, cast) and their sum; or one kernel. Balancing
  /// loss: softmax, top-k, a map (4), its sum, the loss (sum, product, sum, factor), its log (2)
  /// and its place in autograd; or 3, sum, log and autograd. Counts: of a rank's and of all ranks'
  /// tokens, by expert and by rank (7); four copies to the host between two events and a wait.
  /// Order: the map and the gates transposed, indices (2) and two selections; or the three kernels
  /// of a row map. Backward the gradients of the choice (5), of the loss (7) and of the gates'
  /// order (5), or a kernel for each of the first two, two for the loss's factor, and the sum of
  /// both.
  int operator()(const Route& r) const {
    const bool eager = kernels.routing == Fusion::kEager;
    if (r.pass != Pass::kForward) return eager ? 5 + 7 + 5 : 2 + 2 + 1;
    const int choice = eager ? 10 : 1, loss = eager ? 14 : 3 + 4, order = eager ? 6 : 3;
    return choice + loss + kCounts + kCopiesToHost + order;
  }
  /// Rows by index; padded. Of gathered tokens, the own experts' columns of the map and the gates.
  int operator()(const Dispatch& d) const { return 2 + padding() + (d.senders > 0 ? 2 : 0); }
  /// Product with the gates, and the sum into zeros; backward also their gradients.
  int operator()(const Combine& c) const {
    const int back = c.weighted ? (c.pass == Pass::kForward ? 3 : 4) : 2;
    return back + padding();
  }
  /// With bias and dropout one scripted kernel; what an adapter adds is multiplied before.
  int operator()(const Add& a) const {
    const bool apart = a.scaled && kernels.adapters == Fusion::kEager;
    return apart && a.pass == Pass::kForward ? 2 : 1;
  }
  int operator()(const BiasGrad&) const { return 2; }  // column sums, and their sum
  int operator()(const Cast& op) const {
    if (op.autocast) return eager_chain(op, kernels).kernels;
    return op.nested ? 3 : 1;
  }
  int operator()(const Fill&) const { return 1; }
  int operator()(const SquaredNorm&) const { return 2; }  // per block of threads, and of all
  int operator()(const Amax&) const { return 2; }
  int operator()(const Adam&) const { return 1; }  // multi-tensor: all parameters at once

 private:
  int padding() const { return kernels.expert_padding == Fusion::kEager ? 1 : 0; }
};

// One of the products that Transformer Engine's GroupedLinear hands to cuBLASLt for each expert, in
// C++ and so on any host alike (common/gemm/cublaslt_gemm.cu, multi_stream_cublas_gemm): 8 of them
// in 0.267 ms (TransformerEngine pull request 3134, products of 128 tokens with weights of 2,048 x
// 2,048, which take a Blackwell less).
constexpr Seconds kExpertProduct{33.4e-6};

/// What Host::waits_for_lengths calls in front of attention, by Scaling's core/nn/attention/
/// attention.py. Fused, get_max_seq_length: difference, max and its copy to the host. Unfused, the
/// mask (cumulative_seq_lengths_to_dense_attention_mask) of sequences of one document each: which
/// lengths end a sequence (remainder, comparison, where) and the difference; per sequence two
/// indices and two sizes copied to the host, ones, zeros and the block among them; all in a stack,
/// its triangle, and its complement.
std::int64_t length_calls(const Attention& a) { return a.fused ? 3 : 4 + 7 * a.batch + 3; }

int products_of(Pass pass) { return pass == Pass::kBackward ? 2 : 1; }

/// Calls of the linear layer around the product. A pass enters the layer once: backward with the
/// gradient of its input, whichever op that of its weight is in.
double layer_calls(const MatMul& m, const Host& host) {
  const bool enters = m.pass != Pass::kWeightGrad && m.pass != Pass::kOptimizer;
  const bool narrow = size_of(m.in) <= 1;
  return enters ? host.linear_calls * (narrow ? 2 : 1) : 0;
}

/// With experts apart: a product is one for each expert, and so is what else is called for it, as
/// each expert's weight is a parameter of its own to autograd (pytorch/module/grouped_linear.py).
Seconds issue_time(const MatMul& m, const Host& host, const Kernels& kernels) {
  const int calls = host_calls(m, kernels);
  const Seconds layer = host.launch_time * layer_calls(m, host);
  const bool at_once = host.launch_time.value == 0;
  if (kernels.experts == Fusion::kFused || m.batch <= 1 || at_once)
    return layer + host.launch_time * calls;
  const int products = products_of(m.pass);
  const Seconds each = kExpertProduct * products + host.launch_time * (calls - products);
  return layer + each * static_cast<double>(m.batch);
}

// A kernel of those that Transformer Engine casts experts' rows with, expert by expert in C++
// (pytorch/csrc/extensions/cast.cpp, split_quantize): 256 tensors in 1,144 us
// (ROCm/TransformerEngine pull request 598, one kernel each). A scale of the tensor's own takes the
// largest value, the scale and the cast.
constexpr Seconds kExpertCast{4.5e-6};
constexpr int kCurrentScaling = 3;

/// The experts whose rows the cast is of: those of the block's products that read its result.
std::int64_t experts_of(const Op& cast, const Block& block) {
  const auto reads_result = [&](const Operand& o) {
    return o.use == Use::kRead && std::ranges::any_of(cast.operands, [&](const Operand& written) {
             return written.use != Use::kRead && written.tensor == o.tensor;
           });
  };
  for (const Op& op : block.ops) {
    const MatMul* product = computed<MatMul>(op);
    if (product != nullptr && std::ranges::any_of(op.operands, reads_result)) return product->batch;
  }
  return 1;
}

/// What casts of experts' rows take longer than one call.
Seconds casts_of_experts(const Op& op, const Block& block, const Host& host,
                         const Kernels& kernels) {
  const Cast* cast = computed<Cast>(op);
  const bool apart = kernels.experts == Fusion::kEager && host.launch_time.value > 0;
  if (cast == nullptr || !apart || size_of(cast->to) > 1 || cast->to == cast->from) return {};
  const std::int64_t experts = experts_of(op, block);
  if (experts <= 1) return {};
  const bool own_scale = kernels.amax == Fusion::kEager && cast->to == DType::kFp8;
  return kExpertCast * static_cast<double>(experts * (own_scale ? kCurrentScaling : 1));
}

/// Pieces that go around while a product works on others, issued by the call that issues it
/// (Transformer Engine's userbuffers, PyTorch's symmetric memory), not by torch.distributed.
bool within_product(const Op& op) {
  const auto* c = std::get_if<Collective>(&op.body);
  return c != nullptr && c->kind == CollectiveKind::kShift && c->axes.has(Axis::kTp);
}

Seconds issue_time(const Op& op, const Host& host, const Kernels& kernels) {
  const Compute* c = std::get_if<Compute>(&op.body);
  if (c == nullptr) {
    const bool alone = std::holds_alternative<Copy>(op.body) || within_product(op);
    if (alone) return host.launch_time;
    const auto* collective = std::get_if<Collective>(&op.body);
    const std::int64_t calls = collective == nullptr ? 1 : all_reduces_of(*collective, kernels);
    return host.collective_time * static_cast<double>(calls);
  }
  if (const auto* product = std::get_if<MatMul>(c)) return issue_time(*product, host, kernels);
  const auto* attention = std::get_if<Attention>(c);
  if (attention != nullptr && attention->pass == Pass::kForward && host.waits_for_lengths) {
    return host.launch_time *
           static_cast<double>(host_calls(*c, kernels) + length_calls(*attention));
  }
  const Route* route = std::get_if<Route>(c);
  if (route == nullptr || !host.routing_graph) return host.launch_time * host_calls(*c, kernels);
  return host.launch_time * (1 + (route->pass == Pass::kForward ? HostCalls::kCopiesToHost : 0));
}

bool takes_gathered_tokens(const Op& op) {
  const Dispatch* dispatch = computed<Dispatch>(op);
  return dispatch != nullptr && dispatch->senders > 0;
}

/// The op behind which it is known how many tokens each expert has: the choice or, where tokens are
/// gathered, the last gather, since a rank counts those of all ranks then
/// (MoEAllGatherTokenDispatcher).
bool tells_tokens(const Block& block, std::size_t at) {
  const auto behind = std::span(block.ops).subspan(at + 1);
  if (is_forward<Route>(block.ops[at])) return std::ranges::none_of(behind, takes_gathered_tokens);
  return !behind.empty() && takes_gathered_tokens(behind.front());
}

}  // namespace

int host_calls(const Compute& op, const Kernels& kernels) {
  if (is_done_elsewhere(op, kernels)) return 0;
  return std::visit(HostCalls{kernels}, op);
}

std::vector<Seconds> issue_times(const Block& block, const Host& host, const Kernels& kernels) {
  std::vector<Seconds> out(block.ops.size());
  if (host.graphs) {
    if (!out.empty()) out[0] = host.launch_time;
    return out;
  }
  bool recomputes = false;
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    const bool again = block.ops[i].phase == Phase::kRecompute;
    out[i] = issue_time(block.ops[i], host, kernels) +
             casts_of_experts(block.ops[i], block, host, kernels);
    if (again && !recomputes) out[i] += host.launch_time * kCheckpointCalls;
    recomputes = again;
  }
  return out;
}

HostWait wait_after(const Block& block, std::size_t op_of_block, const Host& host) {
  const Op& op = block.ops[op_of_block];
  if (host.waits_for_passes && op_of_block + 1 == block.ops.size()) return HostWait::kDevice;
  if (host.blocking) return HostWait::kOp;
  if (is_message(op)) return host.waits_for_messages ? HostWait::kDevice : HostWait::kNot;
  const bool tells = (host.waits_for_routing && tells_tokens(block, op_of_block)) ||
                     (host.waits_for_lengths && op_of_block + 1 < block.ops.size() &&
                      is_forward<Attention>(block.ops[op_of_block + 1]));
  return tells ? HostWait::kOp : HostWait::kNot;
}

}  // namespace plait
