#include "search/shard_costs.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "plan/dependencies.h"
#include "plan/memory.h"
#include "plan/schedule.h"
#include "search/least_of_both.h"
#include "search/prices.h"

namespace plait {
namespace {

/// When compute is through with the ops of one pass, if those before op `from` take no time.
SimTime chain(const Block& block, const BlockDependencies& deps,
              const std::vector<PriceOfBoth>& prices, std::size_t of, std::size_t from = 0) {
  SimTime out = 0;
  std::array<SimTime, kStreams> clock = {};
  std::vector<SimTime> end(block.ops.size());
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    const Op& op = block.ops[i];
    SimTime& own = clock[static_cast<std::size_t>(op.stream)];
    SimTime ready = behind_compute(op.stream) ? std::max(own, out) : own;
    for (std::size_t k = deps.first[i]; k < deps.first[i + 1]; ++k) {
      ready = std::max(ready, end[deps.before[k]]);
    }
    own = ready + (i < from ? 0 : prices[i][of]);
    end[i] = own;
    if (op.stream == Stream::kCompute) out = own;
  }
  return out;
}

/// What the ops of one pass on a stream take.
SimTime total(const Block& block, Stream stream, const std::vector<PriceOfBoth>& prices,
              std::size_t of) {
  SimTime out = 0;
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    if (block.ops[i].stream == stream) out += prices[i][of];
  }
  return out;
}

/// How long compute is busy with one pass, or waits, while nothing else can run: another pass may
/// in front of each compute op that waits for what is on its way to or from experts.
SimTime turns(const Block& block, const BlockDependencies& deps,
              const std::vector<PriceOfBoth>& prices, std::size_t of) {
  std::vector<bool> under_way(block.ops.size());
  std::vector<SimTime> end(block.ops.size());
  std::array<SimTime, kStreams> clock = {};
  SimTime out = 0;
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    const Op& op = block.ops[i];
    const bool computes = op.stream == Stream::kCompute;
    SimTime ready = clock[static_cast<std::size_t>(op.stream)];
    bool waits = false;
    for (std::size_t k = deps.first[i]; k < deps.first[i + 1]; ++k) {
      waits = waits || under_way[deps.before[k]];
      ready = std::max(ready, end[deps.before[k]]);
    }
    under_way[i] = !computes && (waits || op.stream == Stream::kEp);
    if (computes && waits) {  // by then all before it may have ended
      clock.fill(out), end.assign(end.size(), out);
      ready = out;
    }
    if (behind_compute(op.stream)) ready = std::max(ready, out);
    end[i] = clock[static_cast<std::size_t>(op.stream)] = ready + prices[i][of];
    if (computes) out = end[i];
  }
  return out;
}

/// The plan of one microbatch on the ranks that share it, with two layers of each kind, those with
/// experts last; on two stages where the schedule cuts the backward pass in two.
Plan probe(Model model, Workload workload, const Strategy& base, Layout layout, Recompute kind) {
  const bool split = splits_backward(layout.schedule);
  layout.dp = layout.fsdp = 1, layout.pp = split ? 2 : 1;
  layout.chunks = 1, layout.first_layers = layout.last_layers = -1;
  layout.listed_pieces = false;
  layout.zero_stage = 0, layout.reshard = true;
  layout.schedule = split ? Schedule::kZbH1 : Schedule::k1f1b;
  const bool dense = model.dense_layers() > 0, mixture = model.moe_layers() > 0;
  const std::int64_t of_each = 2 * layout.pp;
  model.layers = (dense && mixture ? 2 : 1) * of_each;
  model.first_dense_layers = dense ? of_each : 0, model.moe_every = 1;
  model.full_attention_first = model.full_attention_every = 0;  // a window never takes longer
  if (split) model.tied_embeddings = false;
  workload.micro_batch = layout.micro_batch;
  workload.global_batch = layout.micro_batch * layout.replicas();
  Strategy strategy = strategy_of(layout, base);
  strategy.recompute.kind = kind;
  strategy.recompute.layers = -1, strategy.recompute.every = 1;
  strategy.pipeline.exchange_overlap = ExchangeOverlap::kNone;
  if (kind != Recompute::kModules) strategy.recompute.modules.clear();
  if (kind != Recompute::kOps) strategy.recompute.keep.clear();
  strategy.keep_weight_shard = false;
  return make_plan(model, workload, strategy);
}

/// What there is of each layer for the whole step, however many microbatches: copies of weights.
bool outlives_microbatches(const Tensor& t) {
  return t.persistent || t.scope == Scope::kRole || t.scope == Scope::kLayer;
}

/// What comes with a microbatch, by op: what is live while it runs, and what was so before.
struct Live {
  std::vector<Bytes> during, before;
};

Live live_of(const Plan& plan) {
  const auto ops = static_cast<std::size_t>(op_count(plan, 0)) + 1;
  Live out{std::vector<Bytes>(ops), std::vector<Bytes>(ops)};
  for (const Stay& s : stays(plan, 0)) {
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

/// Of "layer.forward" and "moe_layer.forward".
std::size_t kind_of(const Block& block) {
  return block.name.starts_with("moe_") ? kMoeLayer : kDenseLayer;
}

/// "layer.forward", with experts or without.
std::string_view name_of(const Block& block) {
  std::string_view name = block.name;
  if (name.starts_with("moe_")) name.remove_prefix(4);
  return name;
}

/// What is live around the two layers of a kind.
struct LiveAround {
  std::int32_t first = -1, second = -1;  // layers
  Bytes before, behind;                  // the second forward pass
  Bytes backward, graded;                // at most, during the second one's
  std::int64_t backward_op = 0;          // with which that begins
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

/// Copies of the second layer's weights that its backward pass reads.
Bytes copies_of(const Plan& plan, const LiveAround& layer) {
  Bytes out;
  for (const Stay& s : stays(plan, 0)) {
    const Tensor& t = plan.tensors[s.tensor];
    const bool copy = t.kind == TensorClass::kWeight && !t.persistent;
    if (copy && s.layer == layer.second && s.last >= layer.backward_op) out += t.bytes(plan.mesh);
  }
  return out;
}

/// Of the second layer of a kind, which is the first one of its kind in the backward pass; but for
/// the layers of `modules` behind the model's, which go through theirs before any other.
void read_memory(const Plan& plan, std::int64_t modules, ShardSizes& out) {
  const std::int64_t layers = plan.layers - 2 * modules;  // they have two numbers each
  const Live live = live_of(plan);
  std::array<LiveAround, 2> around;
  Bytes head;
  std::size_t op = 0;
  for (const Call& call : plan.programs[0].calls) {
    const Block& block = plan.blocks[call.block];
    const auto first = live.during.begin() + static_cast<std::ptrdiff_t>(op);
    const auto end = first + static_cast<std::ptrdiff_t>(block.ops.size());
    op += block.ops.size();
    const std::string_view name = name_of(block);
    LiveAround& of_kind = around[kind_of(block)];
    if (name.starts_with("layer.forward") && call.layer < layers) {
      if (of_kind.first < 0) of_kind.first = call.layer;
      if (of_kind.first != call.layer) of_kind.second = call.layer;
      (of_kind.first == call.layer ? of_kind.before : of_kind.behind) = live.before[op];
    }
    const bool loses = name.starts_with("head.") || name.starts_with("mtp_head.");
    if (loses) head = std::max(head, *std::max_element(first, end));
    if (name.starts_with("layer.backward") && call.layer == of_kind.second) {
      of_kind.backward_op = first - live.during.begin();
      of_kind.backward = *std::max_element(first, end);
      of_kind.graded = *std::max_element(first + all_graded(plan, block), end);
    }
  }
  Bytes saved;  // by both layers of the kinds so far
  for (const std::size_t k : {kDenseLayer, kMoeLayer}) {
    out.layers[k].saved = around[k].behind - around[k].before;
    out.layers[k].copies = copies_of(plan, around[k]);
    saved += out.layers[k].saved * 2;
    out.layers[k].beside_backward = std::max(Bytes(), around[k].backward - saved);
    out.layers[k].beside_gradients = std::max(Bytes(), around[k].graded - saved);
  }
  // The layers of modules are like the last one, of the kind that was looked at last.
  const std::size_t last = around[kMoeLayer].first >= 0 ? kMoeLayer : kDenseLayer;
  saved += out.layers[last].saved * modules;
  out.beside_head = std::max(Bytes(), head - saved);
}

const Adam* update_in(const Block& block) {
  for (const Op& op : block.ops) {
    const auto* c = std::get_if<Compute>(&op.body);
    if (c != nullptr && std::holds_alternative<Adam>(*c)) return &std::get<Adam>(*c);
  }
  return nullptr;
}

void read_sizes(const Plan& plan, ShardSizes& out) {
  for (const Tensor& t : plan.tensors) {
    const std::int64_t n = t.elements(plan.mesh);
    if (t.name == "embedding.weights") out.embedding = n;
    if (t.name == "layer.weights" || t.name == "layer_matrices.weights")
      out.layers[kDenseLayer].parameters += n;
    if (t.name == "moe_layer.weights" || t.name == "moe_layer_matrices.weights")
      out.layers[kMoeLayer].parameters += n;
    if (t.name == "experts.weights") out.layers[kMoeLayer].experts = n;
    if (t.name == "head.weights") out.head = n;
    if (t.name == "mtp.weights" || t.name == "mtp_matrices.weights") out.module += n;
    if (t.name == "x") out.message = t.bytes(plan.mesh);
  }
  for (const Block& block : plan.blocks) {
    const Adam* adam = update_in(block);
    if (adam == nullptr) continue;
    // Weights that are kept narrow are not written by it.
    const bool least = !out.update || adam->weight == adam->master;
    if (least) out.update = *adam;
  }
}

/// The first op that reads the tensor.
std::size_t first_reader(const Block& block, TensorId tensor) {
  const auto reads = [tensor](const Op& op) {
    return std::ranges::any_of(op.operands, [tensor](const Operand& o) {
      return o.tensor == tensor && o.use != Use::kWrite;
    });
  };
  return static_cast<std::size_t>(std::ranges::find_if(block.ops, reads) - block.ops.begin());
}

TensorId tensor_named(const Plan& plan, std::string_view name) {
  const auto found = std::ranges::find(plan.tensors, name, &Tensor::name);
  return static_cast<TensorId>(found - plan.tensors.begin());
}

/// Where what a piece of the model takes is kept; null: it is none. "layer.", "mtp_head.".
PassTimes* times_of_piece(ShardTimes& t, std::string_view piece, std::size_t kind) {
  if (piece == "embedding.") return &t.embedding;
  if (piece == "layer.") return &t.layers[kind];
  if (piece == "head.") return &t.head;
  if (piece == "mtp.") return &t.module;
  return piece == "mtp_head." ? &t.module_head : nullptr;
}

/// Of each block by its name: "layer.backward", "head.weight_grads".
ShardTimesOfBoth read_times(const Plan& plan, const Dependencies& deps, const Prices& prices) {
  ShardTimesOfBoth out;
  const TensorId dx = tensor_named(plan, "dx");
  const bool split =
      std::ranges::any_of(plan.blocks, [](const Block& b) { return b.name.ends_with(".weights"); });
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    const Block& block = plan.blocks[b];
    const std::string_view name = name_of(block), piece = name.substr(0, name.find('.') + 1);
    const std::string_view pass = name.substr(piece.size());
    const bool forward = pass.starts_with("forward");
    if (!forward && !pass.starts_with("backward")) continue;
    const std::vector<PriceOfBoth> each = prices.of(block);
    for (const std::size_t both : {std::size_t{0}, std::size_t{1}}) {
      PassTimes* const found = times_of_piece(out[both], piece, kind_of(block));
      if (found == nullptr) break;
      PassTimes& times = *found;
      const SimTime takes = chain(block, deps.blocks[b], each, both);
      const SimTime compute = total(block, Stream::kCompute, each, both);
      const SimTime alone = turns(block, deps.blocks[b], each, both);
      const SimTime exchanges = total(block, Stream::kEp, each, both);
      if (forward) {
        times.forward = takes;
        times.forward_turns = alone, times.forward_exchanges = exchanges;
      } else if (pass.ends_with(".weights")) {
        times.weights = takes;
        times.backward_turns += compute;
      } else {
        times.backward = takes;
        // Weights' gradients may fill what the others wait for.
        times.backward_turns = split ? compute : alone;
        times.backward_exchanges = exchanges;
        times.ahead = takes - chain(block, deps.blocks[b], each, both, first_reader(block, dx));
      }
    }
  }
  return out;
}

ShardTimesByKind times_of(const Plan& plan, DType written, const CostModel& costs, Groups& groups) {
  const Dependencies deps = dependencies(plan);
  const auto priced = [&](std::optional<std::size_t> kind) {
    return read_times(plan, deps, {plan, costs, groups, written, kind});
  };
  ShardTimesByKind all = {priced(std::nullopt), {}};
  const std::size_t kinds = groups.cluster().kinds();
  for (std::size_t k = 0; kinds > 1 && k < kinds; ++k) all.of_kind.push_back(priced(k));
  return all;
}

/// Layers of two kinds: none takes less time, nor keeps less, than the better of both.
bool partly_recomputed(const Strategy& base, const Layout& layout) {
  return layout.recompute == Recompute::kFull && base.recompute.every > 1;
}

/// What `of` says where all layers are narrow or all plain, or the least of both; nothing where no
/// plan is made.
template <class Of>
auto with_each(const Workload& workload, Of&& of) -> std::optional<decltype(of(workload))> {
  try {
    if (!has_both(workload.precision)) return of(workload);
    Workload narrow = workload, plain = workload;
    narrow.precision = all_narrow(workload.precision);
    plain.precision = all_plain(workload.precision);
    return least_of_both(of(narrow), of(plain));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

DType written_gradients(const Strategy& strategy, const Precision& p) {
  const bool copies = strategy.fsdp.copies != FsdpCopies::kNone;
  return copies && size_of(p.weights) < size_of(p.reduction) ? p.weights : p.reduction;
}

std::optional<ShardCosts> shard_costs(const Model& model, const Workload& workload,
                                      const Strategy& base, const Layout& layout,
                                      const CostModel& costs, Groups& groups) {
  return with_each(workload, [&](const Workload& alike) {
    Layout whole = layout;
    whole.schedule = Schedule::k1f1b;
    const Plan plan = probe(model, alike, base, whole, layout.recompute);
    ShardCosts out;
    read_sizes(plan, out.sizes);
    read_memory(plan, model.mtp_layers, out.sizes);
    const bool partly = partly_recomputed(base, layout);
    for (LayerSizes& layer : out.sizes.layers) {
      if (partly) layer.beside_backward = layer.beside_gradients = layer.copies = {};
    }
    const DType written = written_gradients(base, alike.precision);
    out.times = partly ? times_of(probe(model, alike, base, whole, Recompute::kNone), written,
                                  costs, groups)
                       : times_of(plan, written, costs, groups);
    return out;
  });
}

std::optional<ShardTimesByKind> split_times(const Model& model, const Workload& workload,
                                            const Strategy& base, const Layout& layout,
                                            const CostModel& costs, Groups& groups) {
  return with_each(workload, [&](const Workload& alike) {
    const bool partly = partly_recomputed(base, layout);
    const Plan plan =
        probe(model, alike, base, layout, partly ? Recompute::kNone : layout.recompute);
    return times_of(plan, written_gradients(base, alike.precision), costs, groups);
  });
}

}  // namespace plait
