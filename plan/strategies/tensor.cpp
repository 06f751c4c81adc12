// Tensor parallelism (Shoeybi et al. 2019, section 3): the projections into attention and MLP are
// split by output columns, those out of them by input rows, embedding and output matrix by
// vocabulary. Experts are split as an MLP is, over those ranks along tp that hold the same ones.
// Only weights are sharded here; `insert_collectives` follows the consequences through the ops.
#include "plan/refusal.h"
#include "plan/strategies/draft.h"

namespace plait {
namespace {

/// Dimension of a weight that tp splits, -1: none (replicated).
int split_dimension(std::string_view name) {
  struct Rule {
    std::string_view part;
    int dimension;
  };
  // Of adapters the factor that meets what tp splits is split with it, the other one is whole.
  static constexpr Rule kRules[] = {
      {"layer.qkv.lora_a", -1},
      {"layer.mlp_up.lora_a", -1},
      {"layer.attention_out.lora_a", 1},
      {"layer.mlp_down.lora_a", 1},
      {"layer.qkv.", 0},
      {"layer.q_up.", 0},
      {"layer.kv_up.", 0},
      {"layer.mlp_up.", 0},
      {"layer.shared_up.", 0},
      {"layer.attention_gate.", 0},
      {"layer.state_space_in.", 0},
      {"layer.delta_net_in.", 0},
      {"layer.delta_rule.", 0},
      {"layer.conv.", 0},
      {"layer.scan.", 0},
      {"layer.gated_norm.", 0},
      {"layer.state_space_out.weight", 1},
      {"layer.delta_net_out.weight", 1},
      {"layer.experts_up.", 1},
      {"layer.attention_out.weight", 1},
      {"layer.mlp_down.weight", 1},
      {"layer.shared_down.weight", 1},
      {"layer.experts_down.weight", 2},
      {"embedding.weight", 0},
      {"output.weight", 0},
      {"output.bias", 0},
  };
  for (const Rule& r : kRules) {
    if (name.starts_with(r.part)) return r.dimension;
  }
  return -1;
}

/// `path`: the field that says `n`; `axes`: kTensorAxes, or those of them that split experts;
/// `may_pad`: the field may say more.
void require_divides(const Draft& d, std::int64_t n, const std::string& what,
                     const std::string& path, AxisSet axes = kTensorAxes, bool may_pad = false) {
  const std::int64_t ranks = d.mesh().size_of(axes);
  if (n % ranks == 0) return;
  const bool some = ranks < d.mesh().size_of(kTensorAxes);
  const bool one_for_all = d.strategy.pipeline.stage_tp.empty();
  const std::string name = some ? "expert_tp" : one_for_all ? "tp" : "stage_tp";
  const std::string field = "strategy." + name;
  std::string divisors;
  for (std::int64_t k = 1; k <= n && k <= 64; ++k) {
    if (n % k == 0) divisors += (divisors.empty() ? "" : ", ") + std::to_string(k);
  }
  const std::string padding =
      !may_pad ? "" : ", or pad " + path + " to " + std::to_string((n / ranks + 1) * ranks);
  throw refusal(
      "S010",
      std::to_string(n) + " " + what + " cannot be split over " + (some ? "expert_tp" : "tp") +
          " = " + std::to_string(ranks),
      field, "a divisor of " + std::to_string(n),
      (one_for_all ? "set " : "set each of ") + field + " to one of " + divisors + padding, {path});
}

}  // namespace

void apply_tensor_parallel(Draft& d) {
  const AxisSet tp = d.mesh().present(kTensorAxes);
  if (tp.empty()) return;
  const AxisSet of_expert = tp - d.strategy.axes_of_experts();
  if (d.model.qk_norm_across_heads) {
    throw refusal(
        "S147", "a norm of the queries of all heads is planned where one rank has them all",
        "strategy.tp", "1 with model.qk_norm_across_heads",
        "set it to 1, and strategy.fsdp, pp, cp or ep to more", {"model.qk_norm_across_heads"});
  }
  if (d.model.attention_layers() > 0) {
    require_divides(d, d.model.heads, "attention heads", "model.heads");
    require_divides(d, d.model.kv_heads, "key-value heads", "model.kv_heads");
  }
  if (d.model.state_space_layers() > 0) {
    require_divides(d, d.model.state_heads, "heads of the state-space mixer", "model.state_heads");
    require_divides(d, d.model.state_groups, "groups of the state-space mixer",
                    "model.state_groups");
  }
  if (d.model.delta_net_layers() > 0) {
    require_divides(d, d.model.state_heads, "value heads of the gated delta net",
                    "model.state_heads");
    require_divides(d, d.model.state_groups, "key heads of the gated delta net",
                    "model.state_groups");
  }
  if (d.model.dense_layers() > 0)
    require_divides(d, d.model.ffn_hidden, "columns of the MLP", "model.ffn_hidden");
  require_divides(d, d.model.shared_ffn_hidden, "columns of the shared experts",
                  "model.shared_ffn_hidden");
  require_divides(d, d.model.expert_ffn_hidden, "columns of an expert", "model.expert_ffn_hidden",
                  of_expert);
  require_divides(d, d.model.vocab, "rows of the vocabulary", "model.vocab", kTensorAxes, true);
  for (UnitKind kind : kAllUnits) {
    const AxisSet axes = kind == UnitKind::kExperts ? of_expert : tp;
    const Unit& unit = d.unit(kind);
    for (std::size_t i = 0; i < unit.weights.size(); ++i) {
      const int split = split_dimension(d.tensors[unit.weights[i]].name);
      if (split < 0) continue;
      const auto shard = [&](TensorId t) {
        d.tensors[t].dims[static_cast<std::size_t>(split)].sharded = axes;
      };
      shard(unit.weights[i]);
      if (unit.trained()) shard(unit.gradients[i]);
    }
  }
}

}  // namespace plait
