// Linear layers that tensor parallelism splits by columns multiply copies of their input, one for
// each projection, which stay for the weights' gradients while the input itself goes
// (PaddlePaddle, fleet/layers/mpu/mp_layers.py: ColumnParallelLinear.forward multiplies what
// _c_identity gives, whose kernel copies, phi/kernels/impl/c_identity_kernel_impl.h). In elements,
// per layer and microbatch: s b h kept for each of queries, keys, values, gate and up, where they
// share two inputs otherwise, and as many read and written. Where the sequence is split over tp,
// what a layer multiplies is gathered, and nothing is copied.
#include <algorithm>
#include <map>
#include <utility>

#include "plan/strategies/draft.h"
#include "plan/strategies/layout.h"

namespace plait {
namespace {

class CopiedInputs {
 public:
  explicit CopiedInputs(Draft& d) : d_(d) {}

  void forward(Block& block) {
    for (Op& op : std::exchange(block.ops, {})) {
      const bool product = is_product(op, Pass::kForward);
      const TensorId gradient = product ? gradient_of(op.operands[1].tensor) : kNoTensor;
      if (gradient != kNoTensor) {
        const TensorId first = copies(op.operands[0], op.operands[1].tensor, op.phase, block);
        op.operands[0] = {first, Use::kRead, 0};
        multiplied_[gradient] = first;
      }
      block.ops.push_back(std::move(op));
    }
  }
  void backward(Block& block) const {
    for (Op& op : block.ops) {
      if (!is_product(op, Pass::kWeightGrad)) continue;
      const auto found = multiplied_.find(op.operands[2].tensor);
      if (found != multiplied_.end()) op.operands[1].tensor = found->second;
    }
  }

 private:
  /// Of a weight whose columns tp splits, but of experts; kNoTensor: there is none.
  TensorId gradient_of(TensorId weight) const {
    const Tensor& t = d_.tensors[weight];
    if (t.rank != 2 || !t.dims[0].sharded.has(Axis::kTp)) return kNoTensor;
    for (const Unit& unit : d_.units) {
      const auto found = std::ranges::find(unit.weights, weight);
      if (found == unit.weights.end() || !unit.trained()) continue;
      return unit.gradients[static_cast<std::size_t>(found - unit.weights.begin())];
    }
    return kNoTensor;
  }
  /// Side by side in one tensor, which stays as long as the first of them is read.
  TensorId copies(const Operand& input, TensorId weight, Phase phase, Block& block) {
    const std::int64_t count = projections_of(d_.tensors[weight]);
    Tensor one = d_.tensors[input.tensor];
    one.name = d_.tensors[weight].name + ".input";
    Tensor all = one;
    all.name += "s";
    std::copy_backward(all.dims.begin(), all.dims.begin() + all.rank,
                       all.dims.begin() + all.rank + 1);
    all.dims[0] = Dim{count}, ++all.rank;
    const std::int64_t elements = one.elements(d_.mesh());
    one.storage = d_.add(std::move(all));
    TensorId first = kNoTensor;
    for (std::int64_t i = 0; i < count; ++i) {
      one.offset = i * elements;
      const TensorId copy = d_.add(one);
      block.ops.push_back({Compute(Cast{0, one.dtype, one.dtype}),
                           Stream::kCompute,
                           phase,
                           {input, {copy, Use::kWrite, 0}}});
      if (i == 0) first = copy;
    }
    return first;
  }

  Draft& d_;
  std::map<TensorId, TensorId> multiplied_;  // of each gradient of a weight
};

}  // namespace

void copy_inputs(Draft& d) {
  const bool splits = d.mesh().size_of(kTensorAxes) > 1 && !d.strategy.sequence_parallel;
  if (!d.strategy.tensor.copied_inputs || !splits) return;
  for (LayerKind& layer : d.layers) {
    CopiedInputs copied(d);
    copied.forward(layer.kept.forward);
    copied.backward(layer.kept.backward);
  }
}

}  // namespace plait
