#include "costmodel/intermediates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "costmodel/autocast_chains.h"
#include "costmodel/eager.h"

namespace plait {
namespace {

bool is_norm(const Compute& op) {
  return std::holds_alternative<Norm>(op) || std::holds_alternative<HeadNorm>(op);
}

/// Who needs tensors after the forward pass.
struct Needs {
  std::set<TensorId> of_norms;     // what backward passes of norms read
  std::set<TensorId> of_gammas;    // of these, passes that have gradients of gamma
  std::set<TensorId> of_others;    // what backward passes of all else read
  std::set<TensorId> checkpoints;  // what recomputation starts from

  explicit Needs(const Plan& plan) {
    std::set<TensorId> recomputed;
    for (const Block& block : plan.blocks) {
      for (const Op& op : block.ops) {
        const auto* compute = std::get_if<Compute>(&op.body);
        if (compute == nullptr) continue;
        for (const Operand& o : op.operands) {
          const TensorId tensor = storage_of(plan, o.tensor);
          if (op.phase != Phase::kRecompute) {
            if (o.use != Use::kWrite) add(op.phase, *compute, tensor);
          } else if (o.use == Use::kRead) {
            checkpoints.insert(tensor);
          } else {
            recomputed.insert(tensor);
          }
        }
      }
    }
    std::erase_if(checkpoints, [&](TensorId t) { return recomputed.contains(t); });
  }
  /// Beside norms, for the call that `op` is in.
  bool keep(TensorId t, const Op& op) const {
    return of_others.contains(t) || (op.phase == Phase::kRecompute && checkpoints.contains(t));
  }

 private:
  void add(Phase phase, const Compute& op, TensorId tensor) {
    if (phase != Phase::kBackward && phase != Phase::kWeightGrad) return;
    if (!is_norm(op)) {
      of_others.insert(tensor);
      return;
    }
    of_norms.insert(tensor);
    if (pass_of(op) != Pass::kInputGrad) of_gammas.insert(tensor);
  }
};

/// What autograd saves stands in PyTorch's tools/autograd/derivatives.yaml: pow its input; mul each
/// operand whose other one has a gradient; rsqrt its result; silu, gelu and clamp their input; a
/// cast nothing.
class IntermediatesOfPlan {
 public:
  IntermediatesOfPlan(const Plan& plan, const Kernels& kernels)
      : plan_(plan), kernels_(kernels), needs_(plan), out_(plan.tensors.size()) {}

  std::vector<double> by_tensor() {
    for (const Block& block : plan_.blocks) {
      for (const Op& op : block.ops) add(op);
    }
    return std::move(out_);
  }

 private:
  void add(const Op& op) {
    const auto* compute = std::get_if<Compute>(&op.body);
    if (compute == nullptr || op.operands.empty()) return;
    if (const auto* cast = std::get_if<Cast>(compute)) of_cast(*cast, op);
    if (pass_of(*compute) != Pass::kForward) return;
    if (const auto* norm = std::get_if<Norm>(compute)) of_norm(*norm, op, false);
    if (const auto* heads = std::get_if<HeadNorm>(compute))
      of_norm(norm_of_heads(*heads), op, kernels_.qkv == Fusion::kFused);
    const auto* activation = std::get_if<Activation>(compute);
    if (activation != nullptr && activation->gated) of_gated(*activation, op);
  }
  /// Each projection that is run by itself has its own cast of the input.
  void of_cast(const Cast& cast, const Op& op) {
    if (size_of(cast.to) < size_of(cast.from))
      beside_results(op, cast.to, copies_by_autocast(cast, kernels_) - 1.0);
  }
  /// RMSNorm as model code spells it (norm_chain in eager.cpp), as long as its statistics, one
  /// number in fp32 for each row. x.float() is saved, once, by pow and by the product with rsqrt;
  /// x / rms in the type of x by the product with gamma, if that has a gradient. x itself, which
  /// the plan keeps for the backward pass, nothing saves, unless `held` by a view of it, or needed
  /// elsewhere. In fp32 x.float() is x. So for 16 bits, with x and the result, 8 bytes an element.
  void of_norm(const Norm& norm, const Op& op, bool held) {
    const TensorId statistics = op.operands.back().tensor;
    if (!spelled_out(norm, kernels_) || !needs_.of_norms.contains(statistics)) return;
    const auto wide = static_cast<double>(size_of(DType::kFp32));
    const auto narrow = static_cast<double>(size_of(norm.dtype));
    const bool has_input = held || needs_.keep(storage_of(plan_, op.operands[0].tensor), op);
    double kept = norm.dtype == DType::kFp32 ? 0 : has_input ? wide : wide - narrow;
    if (needs_.of_gammas.contains(statistics)) kept += narrow;
    const double each = kept / wide * static_cast<double>(norm.width);
    out_[statistics] = std::max(out_[statistics], each);
  }
  /// act(gate) * up saves both of its operands beside gate: half as much as the input, as long as
  /// that. Weights of the rows (a gate's) are multiplied behind, which saves the product. Clamps of
  /// gate and up save these beside what is cut off. A checkpoint keeps the input alone: what is
  /// saved is there with the output.
  void of_gated(const Activation& activation, const Op& op) {
    double halves = 0;
    if (kernels_.activation == Fusion::kEager) halves += activation.weighted ? 2 : 1;
    if (kernels_.clamp == Fusion::kEager) halves += 2;
    const TensorId input = storage_of(plan_, op.operands[0].tensor);
    if (needs_.checkpoints.contains(input))
      beside_results(op, activation.dtype, halves);
    else
      out_[input] = halves / 2;
  }
  void beside_results(const Op& op, DType type, double each) {
    for (const Operand& o : op.operands) {
      if (o.use != Use::kRead && plan_.tensors[o.tensor].dtype == type) out_[o.tensor] = each;
    }
  }

  const Plan& plan_;
  const Kernels& kernels_;
  Needs needs_;
  std::vector<double> out_;
};

}  // namespace

std::vector<double> intermediates_by_tensor(const Plan& plan, const Kernels& kernels) {
  return IntermediatesOfPlan(plan, kernels).by_tensor();
}

}  // namespace plait
