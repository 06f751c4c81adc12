// Frozen weights of linear layers in 4 bits beside low-rank adapters (Dettmers et al. 2023, QLoRA,
// arXiv 2305.14314), as bitsandbytes has them (bitsandbytes/functional.py, quantize_4bit;
// nn/modules.py, Linear4bit). Of a matrix of n numbers, read one behind the other:
//
//   codes    n / 2 bytes: the nearest of NF4's 16 numbers of w / absmax, two to a byte
//   absmax   of each block of 64: fp32, or, double quantised, 8 bits of what it is above their mean
//   scales   double quantised: fp32 for each 256 of these, and the mean
//
// 4.5 bits per parameter, or 4 + 8 / 64 + 32 / (64 256) = 4.127. Norms, biases, embedding and
// output matrix stay in the weights' type, as transformers leaves the output matrix
// (integrations/bitsandbytes.py).
//
// In front of every product, forward and backward, the matrix is dequantised into a temporary of
// the weights' type, (out, in), which goes when the product has read it (autograd/_functions.py,
// MatMul4Bit: products are torch's). Nothing of it is kept from one to the other.
//
// Sharded (zero_stage 3), codes are gathered, of which a rank has its share, and the scales are
// whole on each rank: torch shards parameters, and the scales are attributes of them (Answer.AI,
// fsdp_qlora).
#include <map>

#include "plan/strategies/draft.h"

namespace plait {
namespace {

class Nf4Rewrite {
 public:
  explicit Nf4Rewrite(Draft& d) : d_(d), nested_(d.workload.lora.double_quantized) {}

  void rewrite(Block& block) {
    std::vector<Op> ops = std::move(block.ops);
    block.ops.clear();
    for (Op& op : ops) {
      const MatMul* g = body_of<MatMul>(op);
      if (g != nullptr && g->pass != Pass::kWeightGrad && !is_adapter(d_, op)) {
        Operand& weight = op.operands[1];
        block.ops.push_back(dequantise(weight.tensor, op.phase));
        weight = block.ops.back().operands.back();
        weight.use = Use::kRead;
      }
      block.ops.push_back(std::move(op));
    }
  }
  /// Into a unit of their own.
  void part(Unit& whole, Unit& matrices) {
    for (const auto& [weight, stored] : stored_) {
      std::erase(whole.weights, weight);
      matrices.weights.push_back(weight);
    }
    matrices.quantized = true;
  }

 private:
  struct Scales {
    TensorId absmax, scales = kNoTensor;
  };

  Op dequantise(TensorId weight, Phase phase) {
    const Scales stored = scales_of(weight);
    Cast body{0, DType::kNf4, d_.workload.precision.weights};
    body.nested = nested_;
    std::vector<Operand> operands = {{weight, Use::kRead, 0}, {stored.absmax, Use::kRead, 0}};
    if (nested_) {
      operands.push_back({stored.scales, Use::kRead, 0});
      operands.push_back({restored(stored.absmax), Use::kWrite, 0});
    }
    Tensor out = d_.tensors[weight];
    out.name += ".dequantized", out.dtype = d_.workload.precision.weights;
    out.kind = TensorClass::kBuffer, out.scope = Scope::kCall;
    operands.push_back({d_.add(out), Use::kWrite, 0});
    return {Compute(body), Stream::kCompute, phase, std::move(operands)};
  }
  Scales scales_of(TensorId weight) {
    const auto found = stored_.find(weight);
    if (found != stored_.end()) return found->second;
    d_.tensors[weight].dtype = DType::kNf4;
    const std::int64_t blocks = ceil_div(d_.tensors[weight].elements(d_.mesh()), kNf4Block);
    Scales out{stay(weight, ".absmax", blocks, nested_ ? DType::kFp8 : DType::kFp32)};
    const std::int64_t mean = 1;
    if (nested_) {
      out.scales =
          stay(weight, ".absmax_scales", ceil_div(blocks, kNf4Scales) + mean, DType::kFp32);
    }
    return stored_[weight] = out;
  }
  TensorId stay(TensorId weight, const char* what, std::int64_t n, DType type) {
    Tensor t;
    t.name = d_.tensors[weight].name + what;
    t.dims[0] = Dim{n}, t.rank = 1, t.dtype = type;
    t.kind = TensorClass::kWeight, t.scope = Scope::kLayer, t.persistent = true;
    return d_.add(t);
  }
  TensorId restored(TensorId absmax) {
    Tensor t = d_.tensors[absmax];
    t.name += ".restored", t.dtype = DType::kFp32;
    t.kind = TensorClass::kBuffer, t.scope = Scope::kCall, t.persistent = false;
    return d_.add(t);
  }

  Draft& d_;
  bool nested_;
  std::map<TensorId, Scales> stored_;  // by the weights, in the order of their use
};

}  // namespace

void apply_nf4_weights(Draft& d) {
  if (!d.workload.lora.quantizes()) return;
  Nf4Rewrite rewrite(d);
  for (LayerKind& layer : d.layers) {
    rewrite.rewrite(layer.kept.forward);
    rewrite.rewrite(layer.kept.backward);
  }
  rewrite.part(d.unit(UnitKind::kLayer), d.unit(UnitKind::kLayerMatrices));
}

}  // namespace plait
