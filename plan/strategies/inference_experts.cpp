// Experts in a serving step. A training step gives every expert its slots; a step that generates a
// few tokens meets only some of the experts, and reads the weights of those alone.
//
// Replicas may share experts. With expert parallelism (vLLM's --enable-expert-parallel,
// docs/serving/expert_parallel_deployment) they are dealt over the ranks of dp and tp, whole;
// without it vLLM divides each over all of these ranks (docs/serving/data_parallel_deployment: a
// tensor parallel group of size DP x TP). Ranks of tp hold the same tokens, so that each gives its
// own experts' part of their sum, or its columns', and the all-reduce of the MLP adds it up. Tokens
// of other replicas come by an all_gather over dp, with the logits that choose their experts, and
// go back by a reduce_scatter (all2all-backend allgather_reducescatter).
#include <algorithm>
#include <cmath>

#include "core/quantity.h"
#include "plan/refusal.h"
#include "plan/strategies/inference.h"

namespace plait {
namespace {

/// Experts that `tokens` tokens are expected to choose, k of E each and independently: one is left
/// alone with probability (1 - k / E)^tokens.
std::int64_t experts_met(const Model& m, std::int64_t tokens) {
  const auto all = static_cast<double>(m.experts), k = static_cast<double>(m.experts_per_token);
  const double met = all * (1 - std::pow(1 - k / all, static_cast<double>(tokens)));
  return std::clamp(static_cast<std::int64_t>(std::ceil(met)), m.experts_per_token, m.experts);
}

AxisSet expert_axes(const Mesh& mesh) {
  AxisSet axes;
  for (const Axis a : {Axis::kDp, Axis::kTp}) {
    if (mesh[a] > 1) axes = axes | a;
  }
  return axes;
}

/// `n` of `what` over the ranks of `axes`: `field` asks for it, `size` says how many there are.
void require_shares(const Draft& d, AxisSet axes, std::int64_t n, const std::string& what,
                    const char* field, const char* size) {
  const std::int64_t ranks = d.mesh().size_of(axes);
  if (d.model.experts == 0) {
    throw refusal("S128", "experts shared by devices, and the model has none", field, "false",
                  "choose a model with experts", {"model.experts"});
  }
  if (n % ranks != 0) {
    throw refusal("S092",
                  std::to_string(n) + " " + what + " cannot be shared evenly by " +
                      std::to_string(ranks) + " ranks along " + name_of(axes),
                  "strategy.tp", std::string("tp x dp that divides ") + size,
                  "change strategy.tp or strategy.dp", {"strategy.dp", "model.experts"});
  }
}

bool is_up(const Tensor& t) { return t.name.starts_with("layer.experts_up."); }
bool is_down(const Tensor& t) { return t.name.starts_with("layer.experts_down.weight"); }

}  // namespace

namespace {

/// Columns are there from the product that makes them until the one that adds them up.
void divide_columns(Draft& d, Block& block, AxisSet axes) {
  const std::vector<TensorId>& weights = d.unit(UnitKind::kExperts).weights;
  bool divided = false;
  for (Op& op : block.ops) {
    const auto of_experts = std::ranges::find_if(
        op.operands, [&](const Operand& o) { return std::ranges::count(weights, o.tensor) > 0; });
    if (body_of<MatMul>(op) != nullptr && of_experts != op.operands.end())
      divided = is_up(d.tensors[of_experts->tensor]);
    if (!divided) continue;
    for (const Operand& o : op.operands) {
      Tensor& t = d.tensors[o.tensor];
      if (o.use == Use::kWrite && t.rank == 3) t.dims[2].sharded = axes;
    }
  }
}

}  // namespace

void divide_experts(Draft& d) {
  const AxisSet axes = expert_axes(d.mesh());
  require_shares(d, axes, d.model.expert_ffn_hidden, "columns of an expert",
                 "serving.divide_experts", "model.expert_ffn_hidden");
  for (const TensorId t : d.unit(UnitKind::kExperts).weights) {
    if (is_up(d.tensors[t])) d.tensors[t].dims[1].sharded = axes;
    if (is_down(d.tensors[t])) d.tensors[t].dims[2].sharded = axes;
  }
  for (LayerKind& kind : d.layers) divide_columns(d, kind.kept.forward, axes);
}

void deal_experts(Draft& d) {
  const AxisSet axes = expert_axes(d.mesh());
  require_shares(d, axes, d.model.experts, "experts", "serving.expert_parallel", "model.experts");
  for (const TensorId t : d.unit(UnitKind::kExperts).weights) {
    for (Dim& dim : d.tensors[t].dims) dim.sharded = {};
    d.tensors[t].dims[0].sharded = axes;
  }
}

namespace {

/// `met` experts with `slots` each, of `tokens`.
void set_slots(Draft& d, Block& block, std::int64_t met, std::int64_t slots, std::int64_t tokens) {
  bool in_slots = false;  // from the tokens' way to the experts until their way back
  for (Op& op : block.ops) {
    if (Route* route = body_of<Route>(op)) route->capacity = slots;
    if (body_of<Dispatch>(op) != nullptr) in_slots = true;
    if (body_of<Combine>(op) != nullptr) in_slots = false;
    if (!in_slots) continue;
    if (MatMul* product = body_of<MatMul>(op)) product->most_rows = tokens;
    for (const Operand& o : op.operands) {
      Tensor& t = d.tensors[o.tensor];
      if (o.use == Use::kWrite) t.dims[0] = Dim{met}, t.dims[1] = Dim{slots};
    }
  }
}

}  // namespace

void meet_few_experts(Draft& d, const Step& step, ExpertSharing sharing) {
  const Model& m = d.model;
  if (m.experts == 0) return;
  // Where experts are shared a rank has the tokens of all replicas for its own.
  const bool shared = sharing != ExpertSharing::kNone, dealt = sharing == ExpertSharing::kDealt;
  const std::int64_t tokens = shared ? step.tokens_of_all(d.mesh()[Axis::kDp]) : step.tokens();
  const std::int64_t ranks = dealt ? d.mesh().size_of(expert_axes(d.mesh())) : 1;
  const std::int64_t met = std::min(ceil_div(experts_met(m, tokens), ranks), m.experts / ranks);
  const std::int64_t slots = ceil_div(m.experts_per_token * tokens, met * ranks);
  for (LayerKind& kind : d.layers) set_slots(d, kind.kept.forward, met, slots, tokens);
}

namespace {

/// Between the replicas' tokens and those of one: what experts are told of all of them, and the
/// sum of what they make of it.
class TokenGathering {
 public:
  TokenGathering(Draft& d, const Step& step)
      : d_(d), own_(step.tokens()), all_(step.tokens_of_all(d.mesh()[Axis::kDp])) {}

  void run(Block& block) {
    std::vector<Op> ops = std::move(block.ops);
    block.ops.clear();
    for (Op& op : ops) {
      if (body_of<Route>(op) != nullptr) {
        for (std::size_t i = 1; i < op.operands.size(); ++i) of_all(op.operands[i].tensor);
        gather(block, op, 0);
      } else if (body_of<Dispatch>(op) != nullptr) {
        gather(block, op, 0);
      } else if (body_of<Combine>(op) != nullptr) {
        scatter(block, std::move(op));
        continue;
      }
      block.ops.push_back(std::move(op));
    }
    fit_sizes(d_, block);
  }

 private:
  void of_all(TensorId t) {
    Dim& rows = d_.tensors[t].dims[0];
    rows = Dim{rows.global / own_ * all_};
  }
  TensorId whole(TensorId part, const char* suffix) {
    Tensor t = d_.tensors[part];
    t.name += suffix, t.scope = Scope::kCall;
    const TensorId id = d_.add(t);
    of_all(id);
    return id;
  }
  void gather(Block& block, Op& op, std::size_t operand) {
    const TensorId part = op.operands[operand].tensor;
    const TensorId all = whole(part, ".of_replicas");
    exchange(block, CollectiveKind::kAllGather, part, all, all, op.phase);
    op.operands[operand].tensor = all;
  }
  void scatter(Block& block, Op op) {
    const TensorId part = op.operands.back().tensor;
    const TensorId all = whole(part, ".for_replicas");
    const Phase phase = op.phase;
    op.operands.back().tensor = all;
    block.ops.push_back(std::move(op));
    exchange(block, CollectiveKind::kReduceScatter, all, part, all, phase);
  }
  void exchange(Block& block, CollectiveKind kind, TensorId from, TensorId to, TensorId whole,
                Phase phase) {
    Collective c;
    c.kind = kind, c.axes = Axis::kDp;
    c.dtype = d_.tensors[whole].dtype, c.elements = d_.tensors[whole].elements(d_.mesh());
    block.ops.push_back({c, Stream::kEp, phase, {{from, Use::kRead, 0}, {to, Use::kWrite, 0}}});
  }

  Draft& d_;
  std::int64_t own_, all_;  // tokens
};

}  // namespace

void gather_replicas(Draft& d, const Step& step) {
  if (d.mesh()[Axis::kDp] == 1) return;
  for (LayerKind& kind : d.layers) {
    if (kind.has_experts()) TokenGathering(d, step).run(kind.kept.forward);
  }
}

}  // namespace plait
