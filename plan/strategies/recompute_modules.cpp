// Recomputation of parts of a layer: Megatron-LM's --recompute-modules (layernorm, moe_act,
// mla_up_proj, mlp, shared_experts, moe; core_attn is recompute.cpp's), and what DeepSeek-V3 does
// not keep (DeepSeek-AI 2024, arXiv 2412.19437, section 3.2.3: norms, activations of MLPs, and what
// is made of the latents). What a part writes lives within the call; backward, before it first
// reads a result, computes it again from what is kept.
#include <algorithm>
#include <string_view>
#include <vector>

#include "plan/layer_names.h"
#include "plan/refusal.h"
#include "plan/strategies/call_copies.h"

namespace plait {
namespace {

/// The activations that a module writes, by name; copies of them (".fp8", ".gathered") belong to
/// them.
std::vector<std::string_view> results_of(RecomputeModule module) {
  switch (module) {
    case RecomputeModule::kNorms: return {"attention_input", "delta_net_input", "mlp_input"};
    case RecomputeModule::kLatents: return {"qkv"};
    case RecomputeModule::kActivations:
      return {"mlp_activation", "shared_activation", "experts_activation"};
    case RecomputeModule::kExpertActivations: return {"experts_activation"};
    case RecomputeModule::kMlp: return {"mlp_up", "mlp_activation"};
    case RecomputeModule::kSharedExperts:
      return {"shared_up", "shared_activation", "shared_out", "shared_gate"};
    case RecomputeModule::kMoe:
      return {
          "gates",       "expert_slots",       "experts_input", "experts_gates",     "experts_up",
          "experts_out", "experts_activation", "shared_up",     "shared_activation", "shared_out",
          "shared_gate"};
    case RecomputeModule::kAttention: return {};  // recompute.cpp, before these
  }
  return {};
}

/// Norms before attention, delta nets and MLPs; those before states are kept: Megatron-LM's
/// layernorm is TransformerLayer's, and its MambaLayer has none (megatron/core/ssm/mamba_layer.py).
bool has_norms(const Model& m) {
  constexpr LayerParts kStatesAlone = {Mixer::kStateSpace, FeedForward::kNone};
  const auto parts = parts_of_layers(m);
  return m.norm_position != NormPosition::kBranch &&
         std::ranges::any_of(parts, [&](const LayerParts& p) { return p != kStatesAlone; });
}

bool has(const Model& m, RecomputeModule module) {
  switch (module) {
    case RecomputeModule::kNorms: return has_norms(m);
    case RecomputeModule::kActivations: return m.dense_layers() + m.moe_layers() > 0;
    case RecomputeModule::kLatents: return m.latent_attention();
    case RecomputeModule::kMlp: return m.dense_layers() > 0;
    case RecomputeModule::kExpertActivations: return m.moe_layers() > 0;
    case RecomputeModule::kSharedExperts: return m.shared_ffn_hidden > 0;
    case RecomputeModule::kMoe: return m.moe_layers() > 0;
    case RecomputeModule::kAttention: return m.recurrent_layers() < m.layers;
  }
  return false;
}

bool belongs_to(std::string_view tensor, std::string_view result) {
  if (!tensor.starts_with(result)) return false;
  return tensor.size() == result.size() || tensor[result.size()] == '.';
}

class Modules {
 public:
  Modules(Draft& d, const LayerPasses& layer)
      : d_(d),
        layer_(layer),
        forgotten_(d.tensors.size()),
        emitted_(layer.forward.ops.size()),
        once_(d),
        again_(d) {
    for (std::size_t t = 0; t < d.tensors.size(); ++t) forgotten_[t] = forgets(d.tensors[t]);
    for (const Op& op : layer.forward.ops) forget_copies(op);
    find_results_of_mixture();
  }

  LayerPasses run() {
    LayerPasses out{{layer_.forward.name + ".modules", layer_.forward.ops},
                    {layer_.backward.name + ".modules", {}},
                    {}};
    for (Op& op : out.forward.ops) {
      for (Operand& o : op.operands) {
        if (forgotten_[o.tensor]) o = {once_.of(o.tensor), o.use, 0};
      }
    }
    backward_ = &out.backward;
    for (Op op : layer_.backward.ops) {
      for (Operand& o : op.operands) {
        if (o.tensor >= forgotten_.size() || !forgotten_[o.tensor]) continue;
        lead_to(o.tensor);
        o = {again_.of(o.tensor), o.use, 0};
      }
      out.backward.ops.push_back(std::move(op));
    }
    return out;
  }

 private:
  static bool is_of(const Tensor& t, RecomputeModule module) {
    const auto results = results_of(module);
    return std::ranges::any_of(results, [&t](std::string_view r) { return belongs_to(t.name, r); });
  }
  bool forgets(const Tensor& t) const {
    if (t.kind != TensorClass::kActivation || t.scope != Scope::kLayerMicrobatch) return false;
    return std::ranges::any_of(d_.strategy.recompute.modules,
                               [&t](RecomputeModule m) { return is_of(t, m); });
  }
  /// Copies that a cast makes of a module's input are within the module: a checkpoint keeps its
  /// input alone (Megatron-LM, megatron/core/tensor_parallel/random.py, CheckpointFunction).
  void forget_copies(const Op& cast) {
    const Cast* c = body_of<Cast>(cast);
    if (c == nullptr || c->from == c->to) return;  // a copy as it is (meet_alone.cpp)
    const auto writes_forgotten = [this](const Op& op) {
      return std::ranges::any_of(op.operands, [this](const Operand& o) {
        return o.use != Use::kRead && forgotten_[o.tensor];
      });
    };
    bool read = false, within = true;
    for (const Op& op : layer_.forward.ops) {
      if (!reads_result(op, cast)) continue;
      read = true, within = within && writes_forgotten(op);
    }
    if (!read || !within) return;
    for (const Operand& o : cast.operands) {
      const Tensor& t = d_.tensors[o.tensor];
      if (o.use == Use::kRead || t.kind != TensorClass::kActivation) continue;
      forgotten_[o.tensor] = t.scope == Scope::kLayerMicrobatch;
    }
  }
  static bool reads_result(const Op& op, const Op& of) {
    return std::ranges::any_of(of.operands, [&op](const Operand& made) {
      return made.use != Use::kRead && std::ranges::any_of(op.operands, [&](const Operand& o) {
               return o.use == Use::kRead && o.tensor == made.tensor;
             });
    });
  }
  /// A mixture runs again to its end, though nothing reads what it gives the residual stream:
  /// checkpoints run what they hold (megatron/core/transformer/moe/moe_layer.py, forward).
  void find_results_of_mixture() {
    of_mixture_.resize(forgotten_.size());
    if (std::ranges::count(d_.strategy.recompute.modules, RecomputeModule::kMoe) == 0) return;
    for (std::size_t t = 0; t < of_mixture_.size(); ++t)
      of_mixture_[t] = forgotten_[t] && is_of(d_.tensors[t], RecomputeModule::kMoe);
    for (const Op& op : layer_.forward.ops) {
      const bool follows = std::ranges::any_of(op.operands, [&](const Operand& o) {
        return o.use == Use::kRead && of_mixture_[o.tensor];
      });
      const bool within = std::ranges::none_of(op.operands, [&](const Operand& o) {
        return o.use != Use::kRead && d_.tensors[o.tensor].scope != Scope::kCall &&
               !of_mixture_[o.tensor];
      });
      if (!follows || !within) continue;
      for (const Operand& o : op.operands) {
        if (o.use != Use::kRead) of_mixture_[o.tensor] = true;
      }
    }
  }
  /// Emits the ops that lead from what is kept to `result`, but for those that have been.
  void lead_to(TensorId result) {
    std::vector<bool> wanted(forgotten_.size());
    if (of_mixture_[result]) wanted = of_mixture_;
    wanted[result] = true;
    std::vector<std::size_t> path;
    for (std::size_t i = layer_.forward.ops.size(); i-- > 0;) {
      const Op& op = layer_.forward.ops[i];
      const bool leads = std::any_of(op.operands.begin(), op.operands.end(), [&](const Operand& o) {
        return o.use != Use::kRead && wanted[o.tensor];
      });
      if (!leads || emitted_[i]) continue;
      path.push_back(i);
      for (const Operand& o : op.operands) {
        const bool kept = d_.tensors[o.tensor].scope != Scope::kCall && !forgotten_[o.tensor];
        if (o.use != Use::kWrite && !kept) wanted[o.tensor] = true;
      }
    }
    for (auto i = path.rbegin(); i != path.rend(); ++i) {
      emitted_[*i] = true;
      Op op = layer_.forward.ops[*i];
      op.phase = Phase::kRecompute;
      for (Operand& o : op.operands) {
        if (o.use != Use::kRead || again_.has(o.tensor)) o = {again_.of(o.tensor), o.use, 0};
      }
      backward_->ops.push_back(std::move(op));
    }
  }

  Draft& d_;
  const LayerPasses& layer_;
  std::vector<bool> forgotten_, of_mixture_;  // by tensor
  std::vector<bool> emitted_;                 // by op of the forward pass
  CallCopies once_, again_;
  Block* backward_ = nullptr;
};

}  // namespace

LayerPasses recompute_modules(Draft& d, const LayerPasses& layer) {
  const auto& modules = d.strategy.recompute.modules;
  if (modules.empty()) {
    throw refusal("S129", "no module is named to be computed again", "strategy.recompute.modules",
                  "at least one module with strategy.recompute.kind = \"modules\"",
                  "name some, or choose another kind of recomputation",
                  {"strategy.recompute.kind"});
  }
  for (const RecomputeModule m : modules) {
    if (has(d.model, m)) continue;
    throw refusal("S124", "the model has no " + std::string(name_of(m)) + " to compute again",
                  "strategy.recompute.modules", "modules that the model has", "leave it out");
  }
  return Modules(d, layer).run();
}

}  // namespace plait
