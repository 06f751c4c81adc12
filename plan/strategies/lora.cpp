// Low-rank adapters (Hu et al. 2021, LoRA, arXiv 2106.09685). Beside a linear layer's frozen matrix
// W stand factors A (r, in) and B (out, r):
//
//   forward    y = W x;  z = A x;  y += s B z, with s = alpha / r
//   backward   dv = s dy;  dz = B^T dv;  dx = W^T dy + A^T dz;  dB = dv z^T;  dA = dz x^T
//
// With dropout A reads what is left of x, which is kept with its mask instead of x, of each adapter
// by itself, and A^T dz is masked.
//
// W, and all else that is in no adapter, has no gradient: no product makes one, and what only such
// a product would read is not kept. Factors of a part of W's rows (queries, say) add to those rows
// of y alone.
//
// Tensor parallelism (tensor.cpp shards, insert_collectives.cpp follows): where W is split by
// output columns, B is too, and A is whole: every rank makes all of z, and dz, from its columns, is
// a partial sum, which A^T dz adds to the partial W^T dy, summed over tp anyhow. Where W is split
// by input rows, A is too, and B is whole: z is a partial sum, which s B z adds to the partial W x.
// The whole factor's gradient is a partial sum, summed over tp at the end of the step, as those of
// norms are beside sequence shards.
#include "plan/lora.h"

#include <fmt/format.h>

#include "plan/refusal.h"
#include "plan/schedule.h"
#include "plan/strategies/block_writer.h"
#include "plan/strategies/call_copies.h"
#include "plan/strategies/pieces.h"

namespace plait {
namespace {

/// Of a linear layer: what may have an adapter, and where it stands in the packed rows. -1: all.
struct AdaptedRows {
  std::string_view layer;
  AdapterTarget target;
  int section;
};
constexpr AdaptedRows kAdaptedRows[] = {
    {"layer.qkv", AdapterTarget::kQkv, -1},
    {"layer.qkv", AdapterTarget::kQ, 0},
    {"layer.qkv", AdapterTarget::kK, 1},
    {"layer.qkv", AdapterTarget::kV, 2},
    {"layer.attention_out", AdapterTarget::kOut, -1},
    {"layer.mlp_up", AdapterTarget::kUp, -1},
    {"layer.mlp_up", AdapterTarget::kGateHalf, 0},
    {"layer.mlp_up", AdapterTarget::kUpHalf, 1},
    {"layer.mlp_down", AdapterTarget::kDown, -1},
};

Dim part_of(const Dim& out, int section) {
  if (section < 0) return out;
  const auto i = static_cast<std::size_t>(section);
  Dim part{out.sections[i], {}, {}};
  part.sections[i] = part.global;
  return part;
}

/// The tensor and the layer it belongs to, relative to the call.
using Member = std::pair<TensorId, std::int16_t>;

/// Ops of a backward block that lead to a gradient of weights, or to what other blocks read; the
/// gradient of the layer's input is not among these.
Block needed(const Draft& d, const Block& backward) {
  std::vector<Member> wanted;
  const auto is_wanted = [&](const Operand& o) {
    const Tensor& t = d.tensors[o.tensor];
    const bool input = o.tensor == d.dx && o.shift == 0;
    const bool leaves = t.kind == TensorClass::kGradient || (t.scope != Scope::kCall && !input);
    return leaves || std::ranges::find(wanted, Member{o.tensor, o.shift}) != wanted.end();
  };
  Block out{backward.name, {}};
  for (auto op = backward.ops.rbegin(); op != backward.ops.rend(); ++op) {
    const bool needs = std::ranges::any_of(
        op->operands, [&](const Operand& o) { return o.use != Use::kRead && is_wanted(o); });
    if (!needs) continue;
    for (const Operand& o : op->operands) {
      if (o.use != Use::kWrite) wanted.emplace_back(o.tensor, o.shift);
    }
    out.ops.insert(out.ops.begin(), *op);
  }
  return out;
}

/// "layer.forward" becomes "layer.first.forward".
void name_first(Block& block) {
  constexpr std::string_view kLayer = "layer.";
  block.name.insert(block.name.find(kLayer) + kLayer.size(), "first.");
}

/// What forward writes and backward does not read is not kept.
void forget_unread(Draft& d, Block& forward, const Block& backward) {
  std::vector<bool> read(d.tensors.size());
  for (const Op& op : backward.ops) {
    for (const Operand& o : op.operands) read[o.tensor] = true;
  }
  CallCopies forgotten(d);
  for (Op& op : forward.ops) {
    for (Operand& o : op.operands) {
      const Tensor& t = d.tensors[o.tensor];
      const bool kept = t.kind == TensorClass::kActivation && t.scope != Scope::kCall;
      if (kept && o.tensor != d.x && !read[o.tensor]) o = {forgotten.of(o.tensor), o.use, 0};
    }
  }
}

/// A checkpoint makes the gradient of its input though nobody reads it.
void forget_input_gradient(Draft& d, Block& backward) {
  CallCopies forgotten(d);
  for (Op& op : backward.ops) {
    for (Operand& o : op.operands) {
      if (o.tensor == d.dx && o.shift == 0) o.tensor = forgotten.of(d.dx);
    }
  }
}

/// Forms of weights that nobody reads are not made: of a product that computes no gradient of its
/// input, the transposed one. True if there were such.
bool forget_unread_forms(LayerKind& kind) {
  std::vector<const Block*> blocks = {&kind.kept.forward, &kind.kept.backward};
  if (kind.recomputed) {
    blocks.push_back(&kind.recomputed->forward), blocks.push_back(&kind.recomputed->backward);
  }
  std::set<TensorId> read;
  for (const Block* block : blocks) {
    for (const Op& op : block->ops) {
      for (const Operand& o : op.operands) read.insert(o.tensor);
    }
  }
  bool forgot = false;
  for (Op& op : kind.once.ops) {
    const auto unread = std::erase_if(op.operands, [&](const Operand& o) {
      return o.use == Use::kWrite && !read.contains(o.tensor);
    });
    Cast* cast = body_of<Cast>(op);
    if (unread == 0 || cast == nullptr) continue;
    forgot = true, cast->alone = cast->to == DType::kFp8;
    if (cast->to == DType::kNvfp4) cast->copies = std::ssize(op.operands) - 1;
  }
  return forgot;
}

LayerKind first_kind(Draft& d, LayerKind kind, bool renamed) {
  kind.first = true;
  kind.kept.backward = needed(d, kind.kept.backward);
  forget_unread(d, kind.kept.forward, kind.kept.backward);
  if (kind.recomputed && d.strategy.recompute.kind == Recompute::kFull) {
    forget_input_gradient(d, kind.recomputed->backward);
  } else if (kind.recomputed) {
    kind.recomputed->backward = needed(d, kind.recomputed->backward);
    forget_unread(d, kind.recomputed->forward, kind.recomputed->backward);
  }
  const bool forgot = forget_unread_forms(kind);
  if (!renamed) return kind;
  if (forgot) name_first(kind.once);
  name_first(kind.kept.forward), name_first(kind.kept.backward);
  if (kind.recomputed) name_first(kind.recomputed->forward), name_first(kind.recomputed->backward);
  return kind;
}

/// The first layer is on the embedding's stage, which else has nothing to train.
void require_layers_behind_embedding(const Draft& d) {
  const PipelineOptions& p = d.strategy.pipeline;
  if (d.mesh()[Axis::kPp] == 1) return;
  const PieceMap pieces(p.schedule, d.mesh()[Axis::kPp], p.chunks);
  if (first_layers(d.model.layers, pieces.count(), p).at(1) > 0) return;
  throw refusal("S163", "a first stage of a frozen embedding alone has nothing to train",
                "strategy.pipeline.first_stage_layers", "1 or more layers with workload.lora",
                "raise it, or change strategy.pipeline.stage_layers",
                {"strategy.pipeline.stage_layers", "workload.lora"});
}

}  // namespace

std::int64_t count_adapter_parameters(const Model& m, const LowRankAdapters& lora) {
  const std::int64_t up = m.mlp_input_width(m.ffn_hidden);
  std::int64_t widths = 0;  // in + out of each
  for (const AdapterTarget target : lora.targets) {
    switch (target) {
      case AdapterTarget::kQkv: widths += m.hidden + m.qkv_width(); break;
      case AdapterTarget::kQ: widths += m.hidden + m.query_width(); break;
      case AdapterTarget::kK: widths += m.hidden + m.key_width(); break;
      case AdapterTarget::kV: widths += m.hidden + m.value_width(); break;
      case AdapterTarget::kOut: widths += m.context_width() + m.hidden; break;
      case AdapterTarget::kUp: widths += m.hidden + up; break;
      case AdapterTarget::kGateHalf:
      case AdapterTarget::kUpHalf: widths += m.hidden + m.ffn_hidden; break;
      case AdapterTarget::kDown: widths += m.ffn_hidden + m.hidden; break;
    }
  }
  return m.layers * lora.rank * widths;
}

bool is_adapter(const Draft& d, const Op& op) {
  const MatMul* g = body_of<MatMul>(op);
  if (g == nullptr) return false;
  const Unit& adapters = d.unit(UnitKind::kAdapters);
  const bool gradient = g->pass == Pass::kWeightGrad;
  const auto& factors = gradient ? adapters.gradients : adapters.weights;
  const TensorId factor = d.stored(op.operands[gradient ? 2 : 1].tensor);
  return std::ranges::find(factors, factor) != factors.end();
}

// What adapters read in the weights' type is gathered in it, and cast behind that where products
// read it narrow (Megatron-Bridge: return_layernorm_output_gathered in peft/utils.py).
std::set<TensorId> inputs_of_adapters(const Draft& d, const Block& block) {
  std::set<TensorId> out;
  for (const Op& op : block.ops) {
    const Add* add = body_of<Add>(op);
    const bool backward = add != nullptr && add->pass != Pass::kForward;
    const bool reads = add != nullptr && (backward ? add->scaled : add->alone);
    if (reads || (is_product(op, Pass::kForward) && is_adapter(d, op)))
      out.insert(op.operands[0].tensor);
  }
  return out;
}

void BlockWriter::add_adapters(Linear& l, const std::string& name, Dim out, Dim in) {
  const LowRankAdapters& lora = d_.workload.lora;
  const Dim r{lora.rank};
  const std::string linear = name.substr(name.find('.') + 1);
  for (const AdaptedRows& place : kAdaptedRows) {
    if (place.layer != name || !lora.has(place.target)) continue;
    const Dim part = part_of(out, place.section);
    const bool all = place.section < 0;
    const std::string which = all ? "" : "." + std::string(name_of(place.target));
    const auto factor = [&](const char* letter, Dim outer, Dim inner) {
      return parameter(UnitKind::kAdapters, fmt::format("{}.lora_{}{}.weight", name, letter, which),
                       {outer, inner});
    };
    Adapter adapter{};
    adapter.a = factor("a", r, in), adapter.b = factor("b", part, r);
    const std::string changed = fmt::format("{}.lora{}", linear, which);
    adapter.inner = saved(changed + ".inner", lora.rank);
    adapter.change = temporary(changed + ".change", part.global, part.sections);
    adapter.d_inner = temporary("d_" + changed + ".inner", lora.rank);
    adapter.d_change = temporary("d_" + changed + ".change", part.global, part.sections);
    adapter.d_input = temporary("d_" + changed + ".input", in.global);
    if (lora.dropout > 0) {
      adapter.dropped = saved(changed + ".dropped", in.global, in.sections);
      adapter.d_kept = temporary("d_" + changed + ".dropped", in.global);
      // Up to the first dot its name says where the dropout is (realrun/compute/op_view.cpp).
      adapter.mask = rows("lora_mask_" + linear + (all ? "" : "_" + which.substr(1)), in,
                          DType::kInt8, Scope::kLayerMicrobatch);
    }
    l.adapters.push_back(adapter);
  }
}

void BlockWriter::adapter_forward(const Adapter& adapter, TensorId x, TensorId y) {
  const MatMul product = matmul(Pass::kForward, GemmLayout::kNT, false);
  if (adapter.drops()) {
    emit(dropout(Pass::kForward), Phase::kForward,
         {read(x), written(adapter.dropped), written(adapter.mask)});
  }
  emit(product, Phase::kForward,
       {read(adapter.reads(x)), read(adapter.a.weight), written(adapter.inner)});
  emit(product, Phase::kForward,
       {read(adapter.inner), read(adapter.b.weight), written(adapter.change)});
  emit(Add{Pass::kForward, 0, 0, false, false, dtype_, true, d_.workload.lora.scale()},
       Phase::kForward, {read(adapter.change), update(y)});
}

void BlockWriter::adapter_input_grad(const Adapter& adapter, Operand dy, Operand dx) {
  const MatMul product = matmul(Pass::kInputGrad, GemmLayout::kNN, false);
  emit(Add{Pass::kBackward, 0, 0, false, false, dtype_, true, d_.workload.lora.scale()},
       Phase::kBackward, {dy, written(adapter.d_change)});
  emit(product, Phase::kBackward,
       {read(adapter.d_change), read(adapter.b.weight), written(adapter.d_inner)});
  emit(product, Phase::kBackward,
       {read(adapter.d_inner), read(adapter.a.weight), written(adapter.d_input)});
  if (adapter.drops()) {
    emit(dropout(Pass::kBackward), Phase::kBackward,
         {read(adapter.d_input), read(adapter.mask), written(adapter.d_kept)});
  }
  emit(Add{Pass::kForward, 0, 0, false, false, dtype_}, Phase::kBackward,
       {read(adapter.drops() ? adapter.d_kept : adapter.d_input),
        {dx.tensor, Use::kUpdate, dx.shift}});
}

void BlockWriter::adapter_weight_grad(const Adapter& adapter, TensorId x) {
  const MatMul product = matmul(Pass::kWeightGrad, GemmLayout::kTN, false);
  emit(product, Phase::kWeightGrad,
       {read(adapter.d_change), read(adapter.inner), update(adapter.b.gradient)});
  emit(product, Phase::kWeightGrad,
       {read(adapter.d_inner), read(adapter.reads(x)), update(adapter.a.gradient)});
}

Add BlockWriter::dropout(Pass pass) const {
  Add drop{pass, 0, 0, false, true, dtype_};
  drop.alone = true, drop.probability = d_.workload.lora.dropout;
  return drop;
}

bool Draft::is_first(std::int64_t layer) const { return skips_first && layer == 0; }

// What autograd does: embeddings that are frozen need no gradient, so nothing is computed of what
// leads to it below the first adapter. A checkpoint's input does need one: a reentrant checkpoint
// would cut the graph else (PEFT's enable_input_require_grads, Megatron-Bridge's
// maybe_enable_recompute_inputs_grad).
void skip_unused_gradients(Draft& d) {
  if (!d.workload.lora.any()) return;
  require_layers_behind_embedding(d);
  d.skips_first = true;
  forget_unread(d, d.embed_forward, d.embed_backward);  // what its norm keeps
  std::vector<LayerKind> layers;
  for (LayerKind& kind : d.layers) {
    if (kind.parts == d.model.parts_of(0) && kind.plain == d.is_plain(0)) {
      layers.push_back(first_kind(d, kind, d.model.layers > 1));
    }
    if (d.model.layers > 1) layers.push_back(std::move(kind));
  }
  d.layers = std::move(layers);
}

}  // namespace plait
