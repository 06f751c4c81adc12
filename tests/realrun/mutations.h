#pragma once
// Plans with one fault each: a collective dropped or run over other axes, or two microbatches
// exchanged. On all ranks alike, as a mistake in a strategy would be.

#include <algorithm>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace plait {

struct Mutation {
  std::string what;  // "layer.forward: all_reduce over tp dropped"
  Plan plan;
  /// The mutated plan is another sound one: without a collective that the plan, as it stands, could
  /// do without (see `is_needless`), or with a sum in another order (see `commutes`).
  bool sound = false;
};

inline std::string describe(const Block& block, const Op& op) {
  return block.name + ": " + std::string(name_of(op)) + " over " +
         name_of(std::get<Collective>(op.body).axes);
}

inline bool is_called(const Plan& plan, std::size_t block) {
  for (const Program& program : plan.programs) {
    for (const Call& call : program.calls) {
      if (call.block == block) return true;
    }
  }
  return false;
}

/// Whether nothing that op `index` of the block writes is read again. Of memory that lives within a
/// call alone can that be said by looking at the block; later readers that are needless themselves
/// do not count.
///
/// There is one such case: full recomputation runs the whole forward pass of the layer again, to
/// the collective behind its last product, though only the inputs of its ops are wanted. So does
/// Megatron-LM (torch.utils.checkpoint knows nothing about the layer's insides), and the plan says
/// what is executed.
inline bool is_needless(const Plan& plan, const Block& block, std::size_t index) {
  std::vector<bool> wanted(plan.tensors.size(), false);  // storage whose content is still read
  for (std::size_t i = block.ops.size(); i-- > index;) {
    bool needed = false, draws_mask_only = true;  // dropout draws its mask from nothing it reads
    for (const Operand& o : block.ops[i].operands) {
      if (o.use == Use::kRead) continue;
      const TensorId t = storage_of(plan, o.tensor);
      if (!wanted[t] && plan.tensors[t].scope == Scope::kCall) continue;
      needed = true;
      draws_mask_only = draws_mask_only && plan.tensors[t].dtype == DType::kInt8;
    }
    if (i == index) return !needed;
    if (!needed || draws_mask_only) continue;
    for (const Operand& o : block.ops[i].operands) {
      const TensorId t = storage_of(plan, o.tensor);
      wanted[t] = o.use == Use::kRead || o.use == Use::kUpdate || wanted[t];
    }
  }
  return false;
}

/// Without calls of blocks that have no ops left.
inline void remove_empty_calls(Plan& plan) {
  for (Program& program : plan.programs) {
    std::vector<std::int32_t> moved;  // by old index; of what is removed: the call before
    std::vector<Call> kept;
    for (Call call : program.calls) {
      if (!plan.blocks[call.block].ops.empty()) {
        if (call.after >= 0) call.after = moved[static_cast<std::size_t>(call.after)];
        kept.push_back(call);
      }
      moved.push_back(static_cast<std::int32_t>(kept.size()) - 1);
    }
    program.calls = std::move(kept);
  }
}

/// Calls f(block, op) with the indices of every collective that some rank runs.
template <class F>
void for_each_collective(const Plan& plan, F&& f) {
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    if (!is_called(plan, b)) continue;
    for (std::size_t i = 0; i < plan.blocks[b].ops.size(); ++i) {
      if (std::holds_alternative<Collective>(plan.blocks[b].ops[i].body)) f(b, i);
    }
  }
}

/// Numbers and scales of a quantised gather mean nothing without one another.
inline bool gathers_at_once(const Block& block) {
  return std::ranges::count_if(block.ops, [](const Op& op) {
           return std::holds_alternative<Collective>(op.body);
         }) == 1;
}
/// ZeRO++'s gather for the backward pass, from the second shard: without it a plan is a sound one
/// that keeps what the forward pass gathered.
inline bool gathers_again(const Block& block) {
  return block.name == "param_gather.secondary" && gathers_at_once(block);
}

/// Each collective dropped, wherever its block is called.
inline std::vector<Mutation> dropped(const Plan& plan) {
  std::vector<Mutation> out;
  for_each_collective(plan, [&](std::size_t b, std::size_t i) {
    Mutation m{describe(plan.blocks[b], plan.blocks[b].ops[i]) + " dropped", plan,
               is_needless(plan, plan.blocks[b], i) || gathers_again(plan.blocks[b])};
    auto& ops = m.plan.blocks[b].ops;
    ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i));
    remove_empty_calls(m.plan);
    out.push_back(std::move(m));
  });
  return out;
}

/// Whether the block copies back to the device what left it for a while.
inline bool brings_back(const Block& block) {
  return block.name == "offload.fetch_gradients" || block.name == "offload.fetch_activations";
}

/// Ranks here take the delta rule token by token, with no use for the inverses of chunks.
inline bool is_of_chunks(const Tensor& tensor) { return tensor.name == "delta_rule_inverse"; }

/// Each copy between places dropped. What is brought back to the device has never left it where the
/// copy is dropped: another sound plan, which holds more memory.
inline std::vector<Mutation> copies_dropped(const Plan& plan) {
  std::vector<Mutation> out;
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    const Block& block = plan.blocks[b];
    for (std::size_t i = 0; is_called(plan, b) && i < block.ops.size(); ++i) {
      if (!std::holds_alternative<Copy>(block.ops[i].body)) continue;
      const Tensor& copied = plan.tensors[block.ops[i].operands[0].tensor];
      Mutation m{block.name + ": copy of " + copied.name + " dropped", plan,
                 brings_back(block) || is_of_chunks(copied)};
      auto& ops = m.plan.blocks[b].ops;
      ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i));
      remove_empty_calls(m.plan);
      out.push_back(std::move(m));
    }
  }
  return out;
}

/// Whether an earlier call of the program runs the same block for the same layer.
inline bool ran_before(const Program& program, std::size_t call) {
  const Call& c = program.calls[call];
  for (std::size_t i = 0; i < call; ++i) {
    if (program.calls[i].block == c.block && program.calls[i].layer == c.layer) return true;
  }
  return false;
}

/// Collective `op` of one call dropped, on the ranks of one stage.
///
/// ZeRO-3 gathers a layer's weights anew for each use. A plan that leaves out a later gather is
/// another sound plan, one that keeps what was gathered before (it holds more memory).
inline Mutation dropped_once(const Plan& plan, std::size_t stage, std::size_t call,
                             std::size_t op) {
  const Call& at = plan.programs[stage].calls[call];
  const Block& block = plan.blocks[at.block];
  const bool regathers = (block.name == "param_gather" && gathers_at_once(block) &&
                          ran_before(plan.programs[stage], call)) ||
                         gathers_again(block);
  Mutation m{describe(block, block.ops[op]) + " dropped in layer " + std::to_string(at.layer) +
                 ", microbatch " + std::to_string(at.microbatch) + ", call " +
                 std::to_string(call) + " of stage " + std::to_string(stage),
             plan, regathers || is_needless(plan, block, op)};
  Block less = block;
  less.ops.erase(less.ops.begin() + static_cast<std::ptrdiff_t>(op));
  m.plan.programs[stage].calls[call].block = static_cast<BlockId>(m.plan.blocks.size());
  m.plan.blocks.push_back(std::move(less));
  remove_empty_calls(m.plan);
  return m;
}

/// Whether no call before, or none behind, runs the same block.
inline bool is_first_or_last(const Program& program, std::size_t call) {
  const auto same = [&](const Call& c) { return c.block == program.calls[call].block; };
  const auto at = program.calls.begin() + static_cast<std::ptrdiff_t>(call);
  return std::none_of(program.calls.begin(), at, same) ||
         std::none_of(at + 1, program.calls.end(), same);
}

/// Each collective dropped in one call alone: on each stage in the first and in the last of its
/// block's calls, where `every` in each of them.
inline std::vector<Mutation> dropped_once(const Plan& plan, bool every) {
  std::vector<Mutation> out;
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    for (std::size_t c = 0; c < plan.programs[s].calls.size(); ++c) {
      if (!every && !is_first_or_last(plan.programs[s], c)) continue;
      const Block& block = plan.blocks[plan.programs[s].calls[c].block];
      for (std::size_t i = 0; i < block.ops.size(); ++i) {
        if (std::holds_alternative<Collective>(block.ops[i].body)) {
          out.push_back(dropped_once(plan, s, c, i));
        }
      }
    }
  }
  return out;
}

/// Sets of axes by which a collective over `axes` could wrongly be grouped: of the same group size,
/// or one axis short.
inline std::vector<AxisSet> wrong_groups(const Mesh& mesh, AxisSet axes) {
  std::vector<AxisSet> out;
  for (int bits = 1; bits < 1 << kAxes; ++bits) {
    AxisSet other;
    bool real = true;  // every axis of it is split
    for (int a = 0; a < kAxes; ++a) {
      if ((bits >> a & 1) == 0) continue;
      other = other | static_cast<Axis>(a);
      real = real && mesh[static_cast<Axis>(a)] > 1;
    }
    if (!real || other == axes) continue;
    bool one_short = false;
    for (int a = 0; a < kAxes; ++a) {
      const auto axis = static_cast<Axis>(a);
      one_short = one_short || (axes.has(axis) && axes - axis == other);
    }
    if (one_short || mesh.size_of(other) == mesh.size_of(axes)) out.push_back(other);
  }
  return out;
}

/// Each collective over each wrong group. What the plan could do without is left out: harmless
/// where all of the other group run it, and stuck where stages differ in their tensor-parallel
/// degree.
inline std::vector<Mutation> misgrouped(const Plan& plan) {
  std::vector<Mutation> out;
  for_each_collective(plan, [&](std::size_t b, std::size_t i) {
    if (is_needless(plan, plan.blocks[b], i)) return;
    const Op& op = plan.blocks[b].ops[i];
    for (AxisSet other : wrong_groups(plan.mesh, std::get<Collective>(op.body).axes)) {
      Mutation m{describe(plan.blocks[b], op) + " run over " + name_of(other), plan};
      std::get<Collective>(m.plan.blocks[b].ops[i].body).axes = other;
      out.push_back(std::move(m));
    }
  });
  return out;
}

/// Whether the block works on tensors of a microbatch.
inline bool has_microbatch(const Plan& plan, const Block& block) {
  for (const Op& op : block.ops) {
    for (const Operand& o : op.operands) {
      if (per_microbatch(plan.tensors[storage_of(plan, o.tensor)].scope)) return true;
    }
  }
  return false;
}

/// Whether calls i < j accumulate weights' gradients alone, into the same sums (ZeRO-2 has one for
/// each microbatch), of microbatches whose backward passes both stand before i: zero-bubble
/// schedules put W off.
inline bool commutes(const Plan& plan, const Program& program, std::size_t i, std::size_t j) {
  const Call& later = program.calls[j];
  for (const Op& op : plan.blocks[later.block].ops) {
    for (const Operand& o : op.operands) {
      const Tensor& storage = plan.tensors[storage_of(plan, o.tensor)];
      const bool gradient =
          storage.kind == TensorClass::kGradient && !per_microbatch(storage.scope);
      if (o.use != Use::kRead && !(gradient && o.use == Use::kUpdate) &&
          plan.tensors[o.tensor].scope != Scope::kCall) {
        return false;
      }
    }
  }
  const std::string name = plan.blocks[later.block].name;
  for (std::size_t k = 0; k < i; ++k) {
    const Call& c = program.calls[k];
    if (c.layer == later.layer && c.microbatch == later.microbatch &&
        plan.blocks[c.block].name + ".weights" == name) {
      return true;
    }
  }
  return false;
}

/// Each attention within a window with none, and with one that is a token longer. Where it is not
/// fused the backward pass has the probabilities, which are zero outside: it need not know.
inline std::vector<Mutation> other_windows(const Plan& plan) {
  std::vector<Mutation> out;
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    for (std::size_t i = 0; is_called(plan, b) && i < plan.blocks[b].ops.size(); ++i) {
      const auto* c = std::get_if<Compute>(&plan.blocks[b].ops[i].body);
      const auto* a = c == nullptr ? nullptr : std::get_if<Attention>(c);
      if (a == nullptr || a->window == 0) continue;
      for (const std::int64_t window : {std::int64_t{0}, a->window + 1}) {
        Mutation m{plan.blocks[b].name + ": a window of " + std::to_string(window), plan,
                   !a->fused && a->pass == Pass::kBackward};
        std::get<Attention>(std::get<Compute>(m.plan.blocks[b].ops[i].body)).window = window;
        out.push_back(std::move(m));
      }
    }
  }
  return out;
}

/// In each stage, for each block that works on a microbatch: the first two of its calls for the
/// same layer and different microbatches, with these exchanged. But for those that bring back what
/// left the device: it may come early, or once more.
inline std::vector<Mutation> swapped_microbatches(const Plan& plan) {
  std::vector<Mutation> out;
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    const std::vector<Call>& calls = plan.programs[s].calls;
    std::vector<bool> done(plan.blocks.size(), false);
    for (std::size_t j = 0; j < calls.size(); ++j) {
      const Block& block = plan.blocks[calls[j].block];
      if (done[calls[j].block] || !has_microbatch(plan, block) || brings_back(block)) continue;
      for (std::size_t i = 0; i < j; ++i) {
        if (calls[j].block != calls[i].block || calls[j].layer != calls[i].layer) continue;
        if (calls[j].microbatch == calls[i].microbatch) continue;
        Mutation m{block.name + " of stage " + std::to_string(s) + ": calls " + std::to_string(i) +
                       " and " + std::to_string(j) + " with exchanged microbatches",
                   plan, commutes(plan, plan.programs[s], i, j)};
        std::swap(m.plan.programs[s].calls[i].microbatch, m.plan.programs[s].calls[j].microbatch);
        out.push_back(std::move(m));
        done[calls[j].block] = true;
        break;
      }
    }
  }
  return out;
}

}  // namespace plait
