#include "search/shard_costs.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "core/error.h"
#include "plan/dependencies.h"
#include "plan/memory.h"
#include "plan/schedule.h"

namespace plait {
namespace {

/// What an op takes where gradients are written, and where they are added to.
using PriceOfBoth = std::array<SimTime, 2>;

/// The least that ops can take anywhere on the machine.
class Prices {
 public:
  /// `written`: type of gradients that are written and not added to. `kind`: of the node; without
  /// one, the fastest.
  Prices(const Plan& plan, const CostModel& costs, Groups& groups, DType written,
         std::optional<std::size_t> kind)
      : plan_(plan), costs_(costs), groups_(groups), written_(written), kind_(kind) {}

  std::vector<PriceOfBoth> of(const Block& block) const {
    std::vector<PriceOfBoth> out;
    out.reserve(block.ops.size());
    for (const Op& op : block.ops) out.push_back(of(op));
    return out;
  }

 private:
  PriceOfBoth of(const Op& op) const {
    if (const auto* c = std::get_if<Compute>(&op.body)) return of(*c);
    const auto* c = std::get_if<Collective>(&op.body);
    const SimTime takes = c == nullptr ? 0 : least(*c);
    return {takes, takes};
  }
  PriceOfBoth of(const Compute& op) const {
    const SimTime adding = least(op);
    const auto* product = std::get_if<MatMul>(&op);
    if (product == nullptr || product->pass != Pass::kWeightGrad) return {adding, adding};
    MatMul writing = *product;
    writing.accumulate = false, writing.out = written_;
    return {least(writing), adding};
  }
  SimTime least(const Compute& op) const {
    const Cluster& cluster = groups_.cluster();
    SimTime out = std::numeric_limits<SimTime>::max();
    for (std::size_t k = 0; k < cluster.kinds(); ++k) {
      if (kind_ && k != *kind_) continue;
      out = std::min(out, to_sim_time(costs_.compute(op, cluster.kind(k).device).total()));
    }
    return out;
  }
  SimTime least(const Collective& op) const {
    std::int64_t stride = 0;  // of the innermost of its axes, which lie side by side
    for (std::size_t a = 0; a < kAxes; ++a) {
      const auto axis = static_cast<Axis>(a);
      if (op.axes.has(axis) && plan_.mesh[axis] > 1) stride = plan_.mesh.stride(axis);
    }
    if (stride == 0 || !groups_.in_order()) return 0;
    SimTime out = std::numeric_limits<SimTime>::max();
    for (const GroupPlacement& g : groups_.of(plan_.mesh.size_of(op.axes), stride)) {
      out = std::min(out, to_sim_time(costs_.collective(op, g, groups_.cluster()).cost.total()));
    }
    return out;
  }

  const Plan& plan_;
  const CostModel& costs_;
  Groups& groups_;
  DType written_;
  std::optional<std::size_t> kind_;
};

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

/// The plan of one microbatch on the ranks that share it, with two layers of each kind, those with
/// experts last; on two stages where the schedule cuts the backward pass in two.
Plan probe(Model model, Workload workload, const Strategy& base, Layout layout, Recompute kind) {
  const bool split = splits_backward(layout.schedule);
  layout.dp = layout.fsdp = 1, layout.pp = split ? 2 : 1;
  layout.chunks = 1, layout.first_layers = layout.last_layers = -1;
  layout.zero_stage = 0, layout.reshard = true;
  layout.schedule = split ? Schedule::kZbH1 : Schedule::k1f1b;
  const bool dense = model.dense_layers() > 0, mixture = model.moe_layers() > 0;
  const std::int64_t of_each = 2 * layout.pp;
  model.layers = (dense && mixture ? 2 : 1) * of_each;
  model.first_dense_layers = dense ? of_each : 0, model.moe_every = 1;
  if (split) model.tied_embeddings = false;
  workload.micro_batch = layout.micro_batch;
  workload.global_batch = layout.micro_batch * layout.replicas();
  Strategy strategy = strategy_of(layout, base);
  strategy.recompute = {kind};
  strategy.keep_weight_shard = false;
  return make_plan(model, workload, strategy);
}

/// What is live while each op runs and is not always there.
std::vector<Bytes> live_during(const Plan& plan) {
  std::vector<Bytes> change(static_cast<std::size_t>(op_count(plan, 0)) + 1);
  for (const Stay& s : stays(plan, 0)) {
    const Tensor& t = plan.tensors[s.tensor];
    if (t.persistent) continue;
    change[static_cast<std::size_t>(s.first)] += t.bytes(plan.mesh);
    change[static_cast<std::size_t>(s.last) + 1] -= t.bytes(plan.mesh);
  }
  for (std::size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
  return change;
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
  Bytes backward;                        // at most, during the second one's
};

/// Of the second layer of a kind, which is the first one of its kind in the backward pass.
void read_memory(const Plan& plan, ShardSizes& out) {
  const std::vector<Bytes> live = live_during(plan);
  std::array<LiveAround, 2> around;
  Bytes head;
  std::size_t op = 0;
  for (const Call& call : plan.programs[0].calls) {
    const Block& block = plan.blocks[call.block];
    const auto first = live.begin() + static_cast<std::ptrdiff_t>(op);
    const auto end = first + static_cast<std::ptrdiff_t>(block.ops.size());
    op += block.ops.size();
    const std::string_view name = name_of(block);
    LiveAround& of_kind = around[kind_of(block)];
    if (name.starts_with("layer.forward")) {
      if (of_kind.first < 0) of_kind.first = call.layer;
      if (of_kind.first != call.layer) of_kind.second = call.layer;
      (of_kind.first == call.layer ? of_kind.before : of_kind.behind) = *end;
    }
    if (name.starts_with("head.")) head = std::max(head, *std::max_element(first, end));
    if (name.starts_with("layer.backward") && call.layer == of_kind.second) {
      of_kind.backward = *std::max_element(first, end);
    }
  }
  Bytes saved;  // by both layers of the kinds so far
  for (const std::size_t k : {kDenseLayer, kMoeLayer}) {
    out.layers[k].saved = around[k].behind - around[k].before;
    saved += out.layers[k].saved * 2;
    out.layers[k].beside_backward = std::max(Bytes(), around[k].backward - saved);
  }
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
    if (t.name == "layer.weights") out.layers[kDenseLayer].parameters = n;
    if (t.name == "moe_layer.weights") out.layers[kMoeLayer].parameters = n;
    if (t.name == "experts.weights") out.layers[kMoeLayer].experts = n;
    if (t.name == "head.weights") out.head = n;
    if (t.name == "x") out.message = t.bytes(plan.mesh);
  }
  for (const Block& block : plan.blocks) {
    if (const Adam* adam = update_in(block)) out.update = *adam;
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

/// Of each block by its name: "layer.backward", "head.weight_grads".
ShardTimesOfBoth read_times(const Plan& plan, const Dependencies& deps, const Prices& prices) {
  ShardTimesOfBoth out;
  const TensorId dx = tensor_named(plan, "dx");
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    const Block& block = plan.blocks[b];
    const std::string_view name = name_of(block), piece = name.substr(0, name.find('.') + 1);
    if (piece != "embedding." && piece != "layer." && piece != "head.") continue;
    const std::string_view pass = name.substr(piece.size());
    const bool forward = pass.starts_with("forward");
    if (!forward && !pass.starts_with("backward")) continue;
    const std::vector<PriceOfBoth> each = prices.of(block);
    for (const std::size_t both : {0, 1}) {
      ShardTimes& t = out[both];
      PassTimes& times = piece == "layer."  ? t.layers[kind_of(block)]
                         : piece == "head." ? t.head
                                            : t.embedding;
      const SimTime takes = chain(block, deps.blocks[b], each, both);
      if (forward) {
        times.forward = takes;
      } else if (pass.ends_with(".weights")) {
        times.weights = takes;
      } else {
        times.backward = takes;
        times.ahead = takes - chain(block, deps.blocks[b], each, both, first_reader(block, dx));
      }
    }
  }
  return out;
}

/// Layers of two kinds: none takes less time, nor keeps less, than the better of both.
bool partly_recomputed(const Strategy& base, const Layout& layout) {
  return layout.recompute == Recompute::kFull && base.recompute.every > 1;
}

}  // namespace

std::optional<ShardSizes> shard_sizes(const Model& model, const Workload& workload,
                                      const Strategy& base, const Layout& layout) {
  try {
    Layout whole = layout;
    whole.schedule = Schedule::k1f1b;
    const Plan plan = probe(model, workload, base, whole, layout.recompute);
    ShardSizes out;
    read_sizes(plan, out);
    read_memory(plan, out);
    for (LayerSizes& layer : out.layers) {
      if (partly_recomputed(base, layout)) layer.beside_backward = {};
    }
    return out;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::optional<ShardTimesByKind> shard_times(const Model& model, const Workload& workload,
                                            const Strategy& base, const Layout& layout,
                                            const CostModel& costs, Groups& groups) {
  try {
    const bool partly = partly_recomputed(base, layout);
    const Plan plan =
        probe(model, workload, base, layout, partly ? Recompute::kNone : layout.recompute);
    const Dependencies deps = dependencies(plan);
    const auto priced = [&](std::optional<std::size_t> kind) {
      return read_times(plan, deps, {plan, costs, groups, workload.precision.reduction, kind});
    };
    ShardTimesByKind all = {priced(std::nullopt), {}};
    const std::size_t kinds = groups.cluster().kinds();
    for (std::size_t k = 0; kinds > 1 && k < kinds; ++k) all.of_kind.push_back(priced(k));
    return all;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace plait
