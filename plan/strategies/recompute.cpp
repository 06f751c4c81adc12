// Activation recomputation (Chen et al. 2016; selective: Korthikanti et al. 2022, section 5). The
// backward block first runs forward ops again, on copies that live within the call; what they
// produce is then no longer kept from the forward pass. Full: the whole layer, only its input is
// kept, and if asked for the last norm and the output matrix like a layer (the loss, which keeps
// its logits, is not computed again). Selective: attention alone, so that its probabilities are not
// kept. By op: recompute_ops.cpp; by module: recompute_modules.cpp.
#include <algorithm>
#include <span>
#include <utility>

#include "plan/refusal.h"
#include "plan/strategies/call_copies.h"
#include "plan/strategies/head_writer.h"

namespace plait {
namespace {

bool is_attention(const Op& op, Pass pass) {
  const Attention* a = body_of<Attention>(op);
  return a != nullptr && a->pass == pass;
}

/// Context parallelism: the last operand forward, the third from the end backward, is keys and
/// values that the block has gathered.
bool gathers_keys(const Op& op) {
  const Attention& a = std::get<Attention>(std::get<Compute>(op.body));
  return a.balanced && a.ring_step < 0;
}

/// Writes of the op, and reads of what was copied, go to the copies. The layer's input and its
/// weights stay as they are: nobody in the block writes them.
Op redirected(const Op& op, CallCopies& copies, bool writes_too) {
  Op out = op;
  for (Operand& o : out.operands) {
    const bool layer_input = o.use == Use::kRead && !copies.has(o.tensor);
    if (layer_input || (!writes_too && !copies.has(o.tensor))) continue;
    o = {copies.of(o.tensor), o.use, 0};
  }
  return out;
}

/// The first `count` ops of forward. Reads of the layer's input x[l] keep their shift: only
/// x[l + 1], which forward writes, is copied.
Block recompute_first(Draft& d, const Block& forward, std::size_t count, const Block& backward) {
  CallCopies copies(d);
  Block out;
  out.name = backward.name + ".recompute";
  for (const Op& op : std::span(forward.ops).first(count)) {
    Op again = op;
    again.phase = Phase::kRecompute;
    for (Operand& o : again.operands) {
      const bool kept = o.tensor == d.x && o.shift == 0;
      if (kept || (o.use == Use::kRead && !copies.has(o.tensor))) continue;
      o = {copies.of(o.tensor), o.use, 0};
    }
    out.ops.push_back(std::move(again));
  }
  for (const Op& op : backward.ops) {
    Op redirect = op;
    for (Operand& o : redirect.operands) {
      if (o.tensor != d.x && copies.has(o.tensor)) o = {copies.of(o.tensor), o.use, 0};
    }
    out.ops.push_back(std::move(redirect));
  }
  return out;
}

/// Forward without keeping: everything that its first `count` ops write, but the layer's output,
/// lives within the call.
Block forget_first(Draft& d, const Block& forward, std::size_t count) {
  CallCopies copies(d);
  Block out;
  out.name = forward.name + ".recompute";
  for (const Op& op : forward.ops) {
    const bool forgets = out.ops.size() < count;
    Op forgotten = op;
    for (Operand& o : forgotten.operands) {
      const bool again = copies.has(o.tensor);
      if (o.tensor == d.x || (!again && (!forgets || o.use == Use::kRead))) continue;
      o = {copies.of(o.tensor), o.use, 0};
    }
    out.ops.push_back(std::move(forgotten));
  }
  return out;
}

/// The ops of the head before its loss, which begins with the conversion of the logits.
std::size_t ops_before_loss(const Block& head) {
  const auto loss = std::ranges::find_if(head.ops, [](const Op& op) {
    const Cast* cast = body_of<Cast>(op);
    return body_of<CrossEntropy>(op) != nullptr || (cast != nullptr && cast->from != cast->to);
  });
  return static_cast<std::size_t>(loss - head.ops.begin());
}

/// Where the loss takes tokens in pieces, backward makes their logits anyhow.
void recompute_head(Draft& d) {
  if (loss_pieces(d) > 1) return;
  const std::size_t count = ops_before_loss(d.head_forward);
  Block backward = recompute_first(d, d.head_forward, count, d.head_backward);
  d.head_forward = forget_first(d, d.head_forward, count);
  d.head_backward = std::move(backward);
}

bool is_saved_by_attention(const Op& op, std::size_t operand) {
  return is_attention(op, Pass::kForward) && operand >= 2 && op.operands[operand].use != Use::kRead;
}

/// The ops that lead from what is kept to what attention saves besides the context: attention, and
/// in a ring of keys the steps before and what brings their blocks.
std::vector<Op> attention_core(const Draft& d, const Block& forward) {
  std::vector<bool> wanted(d.tensors.size());
  std::vector<Op> core;
  for (auto op = forward.ops.rbegin(); op != forward.ops.rend(); ++op) {
    bool belongs = false;
    for (std::size_t i = 0; i < op->operands.size(); ++i) {
      const Operand& o = op->operands[i];
      belongs =
          belongs || is_saved_by_attention(*op, i) || (o.use != Use::kRead && wanted[o.tensor]);
    }
    if (!belongs) continue;
    core.insert(core.begin(), *op);
    const bool keys_come_anyway = is_attention(*op, Pass::kForward) && gathers_keys(*op);
    for (const Operand& o : op->operands) {
      const bool kept = d.tensors[o.tensor].scope != Scope::kCall;
      if (o.use == Use::kRead && !kept && !keys_come_anyway) wanted[o.tensor] = true;
    }
  }
  return core;
}

/// Attention's outputs besides the context (which the output projection keeps anyway).
LayerPasses recompute_attention(Draft& d, const LayerPasses& kind) {
  LayerPasses out = kind;
  out.forward.name += ".selective";
  out.backward.name += ".selective";
  CallCopies forgotten(d), again(d);
  std::vector<Op> core = attention_core(d, kind.forward);
  for (Op& op : core) op = redirected(op, again, true), op.phase = Phase::kRecompute;
  for (Op& op : out.forward.ops) {
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      Operand& o = op.operands[i];
      if (is_saved_by_attention(op, i)) o.tensor = forgotten.of(o.tensor);
    }
  }
  std::vector<Op> ops;
  for (Op& op : out.backward.ops) {
    if (is_attention(op, Pass::kBackward)) {
      if (gathers_keys(op)) core.back().operands.back() = op.operands[op.operands.size() - 3];
      for (Op& first : std::exchange(core, {})) ops.push_back(std::move(first));
      op = redirected(op, again, false);
    }
    ops.push_back(op);
  }
  out.backward.ops = std::move(ops);
  return out;
}

std::optional<LayerPasses> recomputed(Draft& d, const LayerPasses& layer) {
  switch (d.strategy.recompute.kind) {
    case Recompute::kNone: return std::nullopt;
    case Recompute::kOps: return recompute_ops(d, layer);
    case Recompute::kModules: {
      const bool attention =
          std::ranges::count(d.strategy.recompute.modules, RecomputeModule::kAttention) > 0;
      return recompute_modules(d, attention ? recompute_attention(d, layer) : layer);
    }
    case Recompute::kSelective: return recompute_attention(d, layer);
    case Recompute::kFull:
      return LayerPasses{
          forget_first(d, layer.forward, layer.forward.ops.size()),
          recompute_first(d, layer.forward, layer.forward.ops.size(), layer.backward),
          {}};
  }
  return std::nullopt;
}

/// Which layers is a question of full recomputation only.
void require_whole_layers(const RecomputeOptions& options) {
  const bool full = options.kind == Recompute::kFull;
  if (options.layers >= 0 && !full) {
    throw refusal("S013", "a number of recomputed layers goes with full recomputation only",
                  "strategy.recompute.layers", "strategy.recompute.kind = \"full\"",
                  "remove strategy.recompute.layers or set the kind to \"full\"",
                  {"strategy.recompute.kind"});
  }
  if (options.every == 1) return;
  if (options.every < 1 || !full || options.layers >= 0) {
    throw refusal("S015", "recomputing each n-th layer goes with full recomputation of all layers",
                  "strategy.recompute.every",
                  "1, or more with strategy.recompute.kind = \"full\" and no number of layers",
                  "remove strategy.recompute.every, or set the kind to \"full\" and remove "
                  "strategy.recompute.layers",
                  {"strategy.recompute.kind", "strategy.recompute.layers"});
  }
}

}  // namespace

void apply_recompute(Draft& d) {
  const RecomputeOptions& options = d.strategy.recompute;
  if (!options.modules.empty() && options.kind != Recompute::kModules) {
    throw refusal("S129", "modules to compute again go with a kind of their own",
                  "strategy.recompute.modules", "strategy.recompute.kind = \"modules\"",
                  "remove strategy.recompute.modules or set the kind to \"modules\"",
                  {"strategy.recompute.kind"});
  }
  if (!options.keep.empty() && options.kind != Recompute::kOps) {
    throw refusal("S170", "results to keep go with recomputation op by op",
                  "strategy.recompute.keep", "strategy.recompute.kind = \"ops\"",
                  "remove strategy.recompute.keep or set the kind to \"ops\"",
                  {"strategy.recompute.kind"});
  }
  require_whole_layers(options);
  for (LayerKind& layer : d.layers) layer.recomputed = recomputed(d, layer.kept);
  if (options.head && options.kind == Recompute::kFull) recompute_head(d);
}

}  // namespace plait
