#include "search/shard_sizes.h"

#include <algorithm>
#include <string_view>

#include "plan/layer_names.h"
#include "plan/memory.h"
#include "plan/strategies/stage_exchange.h"

namespace plait {
namespace {

/// What there is of each layer for the whole step, however many microbatches: copies of weights.
bool outlives_microbatches(const Tensor& t) {
  return t.persistent || t.scope == Scope::kRole || t.scope == Scope::kLayer;
}

/// What comes with a microbatch, by op: what is live while it runs, and what was so before.
struct Live {
  std::vector<Bytes> during, before;
};

Live live_of(const Plan& plan, const std::vector<Stay>& stays) {
  const auto ops = static_cast<std::size_t>(op_count(plan, 0)) + 1;
  Live out{std::vector<Bytes>(ops), std::vector<Bytes>(ops)};
  for (const Stay& s : stays) {
    const Tensor& t = plan.tensors[s.tensor];
    if (outlives_microbatches(t)) continue;
    out.during[static_cast<std::size_t>(s.first)] += t.bytes(plan.mesh);
    out.before[static_cast<std::size_t>(s.last) + 1] += t.bytes(plan.mesh);  // gone by then
  }
  Bytes live;
  for (std::size_t i = 0; i < ops; ++i) {
    live -= out.before[i];
    out.before[i] = live;
    live += out.during[i];
    out.during[i] = live;
  }
  return out;
}

/// What is live around the layers of a kind, of which there are one or two.
struct LiveAround {
  std::int32_t first = -1, last = -1;  // layers
  Bytes before, behind;                // the last forward pass
  Bytes backward, graded;              // at most, during that layer's backward pass
  std::int64_t backward_op = 0;        // with which it begins
  std::int64_t layers() const { return last - first + 1; }
  void go_forward(std::int32_t layer, Bytes live_before, Bytes live_behind) {
    before = first < 0 ? live_before : behind;
    if (first < 0) first = layer;
    last = layer, behind = live_behind;
  }
};

/// The first op behind which every unit that the block writes gradients of is being written to.
std::ptrdiff_t all_graded(const Plan& plan, const Block& block) {
  std::vector<TensorId> seen;
  std::ptrdiff_t out = 0;
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    for (const Operand& o : block.ops[i].operands) {
      const TensorId buffer = storage_of(plan, o.tensor);
      if (plan.tensors[buffer].kind != TensorClass::kGradient || o.use == Use::kRead) continue;
      if (std::ranges::find(seen, buffer) != seen.end()) continue;
      seen.push_back(buffer), out = static_cast<std::ptrdiff_t>(i);
    }
  }
  return out;
}

/// Copies of the last layer's weights that its backward pass reads.
Bytes copies_of(const Plan& plan, const std::vector<Stay>& stays, const LiveAround& layer) {
  Bytes out;
  for (const Stay& s : stays) {
    const Tensor& t = plan.tensors[s.tensor];
    const bool copy = t.kind == TensorClass::kWeight && !t.persistent;
    if (copy && s.layer == layer.last && s.last >= layer.backward_op) out += t.bytes(plan.mesh);
  }
  return out;
}

const Adam* update_in(const Block& block) {
  for (const Op& op : block.ops) {
    const auto* c = std::get_if<Compute>(&op.body);
    if (c != nullptr && std::holds_alternative<Adam>(*c)) return &std::get<Adam>(*c);
  }
  return nullptr;
}

/// Of a flat buffer of weights, what it belongs to: "moe_layer", "head"; else empty.
std::string_view unit_of(const Tensor& t) {
  constexpr std::string_view kWeights = ".weights", kMatrices = "_matrices";
  std::string_view name = t.name;
  if (!name.ends_with(kWeights)) return {};
  name.remove_suffix(kWeights.size());
  if (name.ends_with(kMatrices)) name.remove_suffix(kMatrices.size());
  return name;
}

/// Adds what is trained of a unit, or what is not.
void add_size(std::string_view unit, std::int64_t trained, Bytes frozen,
              const std::vector<KindOfLayers>& kinds, ShardSizes& out) {
  if (unit == "embedding") out.embedding = trained, out.frozen_embedding = frozen;
  if (unit == "head") out.head = trained, out.frozen_head = frozen;
  if (unit == "mtp") out.module += trained;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    LayerSizes& layer = out.layers[k];
    if (unit == "experts" && kinds[k].has_experts()) layer.experts = trained;
    if (unit != "adapters" && unit != name_of(kinds[k].parts)) continue;
    layer.parameters += trained, layer.frozen += frozen;
  }
}

}  // namespace

void read_memory(const Plan& plan, const std::vector<KindOfLayers>& kinds, std::int64_t modules,
                 ShardSizes& out) {
  const std::int64_t layers = plan.layers - 2 * modules;  // they have two numbers each
  const std::vector<Stay> all = stays(plan, 0);
  const Live live = live_of(plan, all);
  std::vector<LiveAround> around(kinds.size());
  Bytes head;
  std::size_t op = 0;
  for (const Call& call : plan.programs[0].calls) {
    const Block& block = plan.blocks[call.block];
    const std::size_t begin = op;
    const auto first = live.during.begin() + static_cast<std::ptrdiff_t>(op);
    const auto end = first + static_cast<std::ptrdiff_t>(block.ops.size());
    op += block.ops.size();
    const NameOfPass of = pass_of_layer(block.name, kinds);
    LiveAround& of_kind = around[of.kind];
    if (of.pass.starts_with("forward") && call.layer < layers) {
      of_kind.go_forward(call.layer, live.before[begin], live.before[op]);
    }
    const bool loses = block.name.starts_with("head.") || block.name.starts_with("mtp_head.");
    if (loses) head = std::max(head, *std::max_element(first, end));
    if (of.pass.starts_with("backward") && call.layer == of_kind.last) {
      of_kind.backward_op = first - live.during.begin();
      of_kind.backward = *std::max_element(first, end);
      of_kind.graded = *std::max_element(first + all_graded(plan, block), end);
    }
  }
  Bytes saved;  // by all layers of the kinds so far
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    out.layers[k].saved = around[k].behind - around[k].before;
    out.layers[k].copies = copies_of(plan, all, around[k]);
    saved += out.layers[k].saved * around[k].layers();
    out.layers[k].beside_backward = std::max(Bytes(), around[k].backward - saved);
    out.layers[k].beside_gradients = std::max(Bytes(), around[k].graded - saved);
  }
  // The layers of modules are like the last one, of the kind that was looked at last.
  saved += out.layers[kinds.size() - 1].saved * modules;
  out.beside_head = std::max(Bytes(), head - saved);
}

void read_sizes(const Plan& plan, const std::vector<KindOfLayers>& kinds, bool adapters,
                const PipelineOptions& pipeline, ShardSizes& out) {
  for (const Tensor& t : plan.tensors) {
    if (t.name == "x") {
      out.message = Bytes(t.bytes(plan.mesh).value / sharers_of_message(pipeline, plan.mesh, t));
    }
    const std::string_view unit = unit_of(t);
    if (unit.empty()) continue;
    const bool trained = !adapters || unit == "adapters";
    const bool stays = !trained && t.persistent;
    add_size(unit, trained ? t.elements(plan.mesh) : 0, stays ? t.bytes(plan.mesh) : Bytes(), kinds,
             out);
  }
  for (const Block& block : plan.blocks) {
    const Adam* adam = update_in(block);
    if (adam == nullptr) continue;
    // Weights that are kept narrow are not written by it.
    const bool least = !out.update || adam->weight == adam->master;
    if (least) out.update = *adam;
  }
}

}  // namespace plait
