// Every matrix by its rows over the devices of tp (llama.cpp's --split-mode row: split buffers of
// ggml/src/ggml-cuda/ggml-cuda.cu, ggml_cuda_op_mul_mat). What is no product of a matrix, attention
// and its cache among it, belongs to one device, each layer to another one. Around a product
//
//   its input goes to the other devices, each has N / n of the N columns of the result, and these
//   come back
//
// so a product of T tokens sends (n - 1) T K and (n - 1) / n T N elements, over the links of one
// device. In the plan all ranks do what the layer's device does and have what it has, in the same
// time; of the cache each holds as much as the layers that are its own.
#include <utility>

#include "plan/refusal.h"
#include "plan/strategies/inference.h"

namespace plait {
namespace {

class RowSplit {
 public:
  explicit RowSplit(Draft& d) : d_(d), tp_(Axis::kTp) {}

  void run(Block& block) {
    for (Op& op : std::exchange(block.ops, {})) {
      if (body_of<MatMul>(op) == nullptr || is_router(d_, op)) {
        block.ops.push_back(std::move(op));
        continue;
      }
      const TensorId input = op.operands[0].tensor, whole = op.operands[2].tensor;
      split(op.operands[1].tensor);
      const TensorId part = part_of(whole);
      op.operands[2].tensor = part;
      block.ops.push_back(message(CollectiveKind::kBroadcast, {{input, Use::kUpdate, 0}}));
      block.ops.push_back(std::move(op));
      block.ops.push_back(
          message(CollectiveKind::kAllGather, {{part, Use::kRead, 0}, {whole, Use::kWrite, 0}}));
    }
  }

 private:
  /// The rows of a matrix of (out, in).
  void split(TensorId weight) {
    Tensor& w = d_.tensors[weight];
    Dim& rows = w.dims[static_cast<std::size_t>(w.rank - 2)];
    const std::int64_t n = d_.mesh()[Axis::kTp];
    if (rows.global % n != 0) {
      throw refusal("S192",
                    w.name + " has " + std::to_string(rows.global) +
                        " rows, which cannot be shared evenly by " + std::to_string(n) + " devices",
                    "strategy.tp", "a divisor of the rows of every matrix",
                    "change strategy.tp, or split by layers");
    }
    rows.sharded = tp_;
  }
  TensorId part_of(TensorId whole) {
    Tensor t = d_.tensors[whole];
    t.name += ".part", t.scope = Scope::kCall;
    t.dims[static_cast<std::size_t>(t.rank - 1)].sharded = tp_;
    return d_.add(std::move(t));
  }
  Op message(CollectiveKind kind, std::vector<Operand> operands) const {
    const Tensor& t = d_.tensors[operands.back().tensor];
    Collective c;
    c.kind = kind, c.axes = tp_;
    c.dtype = t.dtype, c.elements = t.elements(d_.mesh());
    return {c, Stream::kCompute, Phase::kForward, std::move(operands)};
  }

  Draft& d_;
  AxisSet tp_;
};

}  // namespace

void split_by_rows(Draft& d) {
  RowSplit rows(d);
  for (LayerKind& kind : d.layers) rows.run(kind.kept.forward);
  rows.run(d.head_forward);
}

}  // namespace plait
