// Passes in parts, for a forward and a backward pass that take turns so that the all_to_alls of the
// one hide behind the other's compute: DualPipe's F&B (DeepSeek-AI 2024, DeepSeek-V3 technical
// report, section 3.2.1 and figure 4) and Megatron-Core's --overlap-moe-expert-parallel-comm. A
// part ends in front of the first compute that needs what is on its way to or from experts. Compute
// of the pass that needs none of it (gradients of weights, shared experts) stays in front of the
// cut where it was written there.
//
// In turns, with layers l going forward and k back: the results' gradients of k leave; attention
// and router of l; experts of k, back; experts of l; attention of k, back. Each exchange is on its
// way while the other pass has its turn.
#include <algorithm>

#include "plan/strategies/draft.h"

namespace plait {
namespace {

/// Tensors that are on their way.
class UnderWay {
 public:
  explicit UnderWay(std::size_t tensors) : is_(tensors) {}
  bool reads(const Op& op) const {
    return std::ranges::any_of(
        op.operands, [this](const Operand& o) { return o.use != Use::kWrite && is_[o.tensor]; });
  }
  void add_results(const Op& op) {
    for (const Operand& o : op.operands) {
      if (o.use != Use::kRead) is_[o.tensor] = true;
    }
  }
  void clear() { is_.assign(is_.size(), false); }

 private:
  std::vector<bool> is_;
};

std::vector<Block> parts_of(const Draft& d, const Block& pass) {
  std::vector<Block> parts(1);
  UnderWay under_way(d.tensors.size());
  for (const Op& op : pass.ops) {
    const bool waits = under_way.reads(op);
    if (waits && op.stream == Stream::kCompute) {
      parts.emplace_back();
      under_way.clear();
    } else if (waits || op.stream == Stream::kEp) {
      under_way.add_results(op);  // what goes on from there, over other axes, too
    }
    parts.back().ops.push_back(op);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].name = pass.name + ".part" + std::to_string(i + 1);
  }
  return parts;
}

/// What was one call's own and is met in several parts is the pass's now.
void outlive_parts(Draft& d, const std::vector<Block>& parts) {
  constexpr std::size_t kNowhere = ~std::size_t{0};
  std::vector<std::size_t> met(d.tensors.size(), kNowhere);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const Op& op : parts[i].ops) {
      for (const Operand& o : op.operands) {
        const TensorId root =
            d.tensors[o.tensor].is_view() ? d.tensors[o.tensor].storage : o.tensor;
        Tensor& t = d.tensors[root];
        if (t.scope == Scope::kCall && met[root] != kNowhere && met[root] != i) {
          t.scope = Scope::kLayerMicrobatch;
        }
        met[root] = i;
      }
    }
  }
}

void part(Draft& d, LayerPasses& layer) {
  const Block& whole = layer.backward_parts.empty() ? layer.backward : layer.backward_parts.front();
  layer.backward_parts = parts_of(d, whole);
  layer.forward_parts = parts_of(d, layer.forward);
  if (layer.forward_parts.size() == 1) {
    layer.forward_parts.clear(), layer.backward_parts.clear();
    return;
  }
  outlive_parts(d, layer.forward_parts);
  outlive_parts(d, layer.backward_parts);
}

}  // namespace

void part_passes(Draft& d) {
  if (!d.strategy.pipeline.pairs_passes()) return;
  for (LayerKind& k : d.layers) {
    part(d, k.kept);
    if (k.recomputed) part(d, *k.recomputed);
  }
}

}  // namespace plait
