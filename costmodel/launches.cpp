#include "costmodel/launches.h"

#include <algorithm>

#include "costmodel/casts.h"
#include "costmodel/expert_chains.h"
#include "costmodel/gradient_sums.h"
#include "costmodel/projections.h"
#include "costmodel/scores.h"
#include "costmodel/single_loss.h"

namespace plait {
namespace {

/// Gradients of gamma and, of LayerNorm, beta, which autograd adds to the sums over microbatches.
int vectors_summed(NormKind kind, Pass pass) {
  if (pass != Pass::kBackward && pass != Pass::kWeightGrad) return 0;
  return kind == NormKind::kLayerNorm ? 2 : 1;
}

bool makes_weights(const MatMul& m) {
  return m.pass == Pass::kWeightGrad || m.pass == Pass::kBackward;
}

/// Where Kernels does not say how an op is run: as Megatron-LM's layers launch it in PyTorch
/// (megatron/model/transformer.py and mpu/ of 2021), or as the plain tensor expression. Autograd
/// comes to each parameter (AccumulateGrad) and calls the framework's hook for it even where the
/// product has added the gradient up itself (megatron/core/distributed/
/// distributed_data_parallel.py, _make_backward_post_hook): a call in either case.
struct Launcher {
  const Compute& op;
  const Kernels& kernels;
  Launches& to;

  void operator()(const MatMul& m) const {
    const Products products = as_run(m, kernels);
    for (int i = 0; i < products.count; ++i) product(products.each[static_cast<std::size_t>(i)]);
    chain(input_sum_chain(m, kernels));
    // Of the experts' two products the second has a bias of its own, added expert by expert: times
    // the gates, its sum; backward a cast, a product and a sum for the bias and for the gates, and
    // the sum over the microbatches. Half of it for each of the two. What they move: Combine's
    // expert_bias_chain.
    if (m.batch <= 1 || kernels.expert_bias == Fusion::kFused) return;
    if (m.pass == Pass::kForward) to.calls(m.batch);
    if (m.pass == Pass::kInputGrad || m.pass == Pass::kBackward) to.calls(3 * m.batch);
  }
  /// Unfused, forward: QK^T, scale, mask and softmax, PV, and the transpose of the context.
  /// Backward: two products for each of the two, the scale of dQ and dK, softmax, and the
  /// concatenation of dQ, dK and dV. Dropout comes under a random state of its own, which is read
  /// and set before and after (fused_softmax.py and mpu/random.py). Fused backward has a pass
  /// before, for rowsum(dO O).
  void operator()(const Attention& a) const {
    const bool forward = is_forward(a.pass);
    Attention alone = a;
    if (kernels.attention != FlashKernel::kNewest) alone.kernel = kernels.attention;
    const KernelChain repeated = shared_keys_chain(a, kernels);
    if (repeated.kernels > 0) alone.kv_heads = a.heads;
    const KernelChain merged = merge_chain(alone, kernels);
    if (merged.kernels > 0) alone.ring_step = 0;  // its kernel merges nothing
    const int products = forward ? 2 : 4, copies = forward ? 1 : 3;
    to.kernel(alone,
              a.fused ? (forward ? 1 : 2) : products + copies + score_kernels(a, kernels.softmax));
    if (!a.fused && a.dropout && forward) to.calls(4);
    chain(packing_chain(a, kernels));
    chain(repeated);
    chain(merged);
  }
  void operator()(const Norm& n) const {
    chain_or_kernel(1);
    to.calls(vectors_summed(n.kind, n.pass));
  }
  void operator()(const HeadNorm& n) const {  // queries and keys
    chain_or_kernel(2);
    to.calls(2 * vectors_summed(NormKind::kRmsNorm, n.pass));
  }
  void operator()(const Activation& a) const {
    chain_or_kernel(1);
    chain(clamp_of(a, kernels));
  }
  /// megatron/core/transformer/multi_latent_attention.py: queries and keys concatenated, values
  /// copied; backward, the gradients of the halves concatenated again, and the sum over the heads.
  void operator()(const LatentHeads&) const { to.kernel(op, 3); }
  /// Sigmoid and product; backward two products and the sigmoid's, and the sums of a row's gate.
  void operator()(const Gate& g) const {
    to.kernel(op, is_forward(g.pass) ? 2 : 3 + (g.per_row ? 1 : 0));
  }
  /// mamba_ssm's fused layer calls its kernels from one autograd function: a convolution; those of
  /// scan_kernels, as flash-linear-attention's does those of delta_rule_kernels; one norm, backward
  /// also the sums of gamma's gradient.
  void operator()(const Scan& s) const { to.kernel(op, static_cast<int>(scan_kernels(s).size())); }
  void operator()(const DeltaRule& d) const {
    to.kernel(op, static_cast<int>(delta_rule_kernels(d).size()));
  }
  void operator()(const GatedNorm& n) const { to.kernel(op, is_forward(n.pass) ? 1 : 2); }
  /// Lookup; with positions a second one, and the sum. Backward for each table a scatter and its
  /// sum; where the tokens' starts from zeros and is added to the sum whole, so does that of the
  /// positions.
  void operator()(const Embedding& e) const {
    if (is_forward(e.pass)) {
      to.kernel(op, e.learned_positions ? 3 : 1);
      return;
    }
    const KernelChain table = table_gradient_chain(e, kernels);
    const int tables = e.learned_positions ? 2 : 1, beside = std::max(table.kernels, 1);
    to.kernel(op, tables);
    chain(table);
    to.calls(tables * beside - table.kernels);
  }
  /// Megatron-LM's loss in parts (mpu/cross_entropy.py) also finds out which targets are here (two
  /// comparisons, or), their local index, and looks them up under a mask (3); then takes the log,
  /// the difference and the mean; backward it takes one off at the target.
  void operator()(const CrossEntropy& c) const {
    using Step = CrossEntropy::Step;
    if (is_done_elsewhere(op, kernels)) return;
    const bool parallel = kernels.cross_entropy == Fusion::kParallel;
    // Logits in fp32: log_softmax, of the next step, reads them a first time.
    const bool read_first = c.step == Step::kRowMax && kernels.cross_entropy == Fusion::kEager;
    chain_or_kernel(read_first ? 0 : parallel && c.step == Step::kLoss ? 3 : 1);
    if (parallel && c.step == Step::kSums) to.calls(7);
    if (parallel && c.step == Step::kGradient) to.calls(1);
  }
  void operator()(const Route& r) const { chain_or_kernel(route_calls(r, kernels)); }
  /// Of gathered tokens, the own experts' columns of the map and the gates.
  void operator()(const Dispatch& d) const {
    const KernelChain apart = eager_chain(op, kernels);
    const int columns = d.senders > 0 ? 2 : 0;
    if (apart.kernels == 0) to.kernel(op, 1 + columns);
    chain(apart);
    if (apart.kernels > 0 && !is_forward(d.pass)) to.calls(columns);
    chain(expert_padding_chain(op, kernels));
  }
  void operator()(const Combine& c) const {
    chain_or_kernel(1);
    chain(expert_bias_chain(c, kernels));
    chain(expert_padding_chain(op, kernels));
  }
  void operator()(const BiasGrad&) const { to.kernel(op, 2); }  // column sums, and their sum
  void operator()(const Cast& c) const {
    if (is_to_nvfp4(c)) {
      to.kernel(op, 1);
      return;
    }
    chain_or_kernel(1);
  }
  /// Per block of threads, and of all.
  void operator()(const SquaredNorm&) const {
    const KernelChain clip = eager_chain(op, kernels);
    if (clip.kernels == 0) to.kernel(op, 2);
    chain(clip);
    if (clip.kernels > 0) to.calls(1);
  }
  void operator()(const Amax&) const { to.kernel(op, 2); }
  /// With bias and dropout one scripted kernel; multi-tensor: all parameters at once.
  template <class Other>
  void operator()(const Other&) const {
    chain_or_kernel(1);
  }

 private:
  void chain(const KernelChain& chain) const {
    if (chain.kernels > 0) to.chain(chain);
  }
  /// The chain in place of the kernel, which takes so many calls.
  void chain_or_kernel(int calls) const {
    const KernelChain instead = eager_chain(op, kernels);
    if (instead.kernels > 0) {
      to.chain(instead);
    } else {
      to.kernel(op, calls);
    }
  }
  void product(const MatMul& one) const {
    const std::int64_t experts = experts_apart(one, kernels);
    KernelChain sum = gradient_sum_chain(one, kernels);
    MatMul alone = one;
    if (sum.kernels > 0) alone.accumulate = false, alone.out = written_alone(one);
    KernelChain rescale = rescale_chain(alone);
    sum.kernels *= static_cast<int>(experts), rescale.kernels *= static_cast<int>(experts);
    to.kernel(alone, products_of(one.pass) * static_cast<int>(experts));
    chain(rescale);
    chain(sum);
    if (!makes_weights(one)) return;
    if (sum.kernels == 0 && !one.autocast) to.calls(experts);
    bias_gradient(one, experts);
  }
  /// The sum of dy[k, m] over rows, which products in a framework's own kernel make on the way. It
  /// is added to that of earlier microbatches; by autocast the casts do.
  void bias_gradient(const MatMul& one, std::int64_t experts) const {
    if (!one.bias) return;
    if (kernels.bias != Fusion::kFused) to.kernel(BiasGrad{one.k, one.m, one.in}, 1);
    if (!one.autocast) to.calls(experts);
  }
};

}  // namespace

std::int64_t experts_apart(const MatMul& op, const Kernels& kernels) {
  return kernels.experts == Fusion::kFused ? 1 : std::max<std::int64_t>(op.batch, 1);
}

int products_of(Pass pass) { return pass == Pass::kBackward ? 2 : 1; }

void launch(const Compute& op, const Kernels& kernels, Launches& to) {
  std::visit(Launcher{op, kernels, to}, op);
}

}  // namespace plait
