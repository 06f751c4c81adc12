#include "search/shard_costs.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "plan/dependencies.h"
#include "plan/schedule.h"
#include "plan/strategies/data_parallel.h"
#include "search/least_of_both.h"
#include "search/prices.h"
#include "search/shard_sizes.h"
#include "sim/holdings.h"

namespace plait {
namespace {

/// The collectives that slow down kernels of one pass: those that a later kernel of it waits for,
/// which run beside its kernels alone, whatever delays them.
std::vector<bool> within_pass(const Block& block, const BlockDependencies& deps) {
  std::vector<bool> out(block.ops.size());
  std::array<bool, kStreams> waited_for = {};  // some later op of the stream is
  for (std::size_t i = block.ops.size(); i-- > 0;) {
    const auto stream = static_cast<std::size_t>(block.ops[i].stream);
    const bool computes = block.ops[i].stream == Stream::kCompute;
    out[i] = !computes && (out[i] || waited_for[stream]);
    waited_for[stream] = waited_for[stream] || out[i];
    if (!computes && !out[i]) continue;
    for (std::size_t k = deps.first[i]; k < deps.first[i + 1]; ++k) out[deps.before[k]] = true;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = out[i] && behind_compute(block.ops[i].stream);
  }
  return out;
}

/// When compute is through with the ops of one pass, if those before op `from` take no time.
class Chain {
 public:
  /// `multiprocessors`: of a device; 0: nothing slows a kernel down.
  Chain(const Block& block, const BlockDependencies& deps, int multiprocessors = 0)
      : block_(block), deps_(deps), multiprocessors_(multiprocessors) {
    if (multiprocessors > 0) slows_ = within_pass(block, deps);
  }

  SimTime end(const std::vector<PricedOp>& prices, std::size_t of, std::size_t from = 0) const {
    SimTime out = 0;
    std::array<SimTime, kStreams> clock = {};
    std::vector<SimTime> ends(block_.ops.size());
    std::vector<Holding> holdings;
    for (std::size_t i = 0; i < block_.ops.size(); ++i) {
      const Op& op = block_.ops[i];
      SimTime& own = clock[static_cast<std::size_t>(op.stream)];
      SimTime ready = behind_compute(op.stream) ? std::max(own, out) : own;
      for (std::size_t k = deps_.first[i]; k < deps_.first[i + 1]; ++k) {
        ready = std::max(ready, ends[deps_.before[k]]);
      }
      const SimTime takes = i < from ? 0 : prices[i].takes[of];
      own =
          std::holds_alternative<Compute>(op.body) ? beside(holdings, ready, takes) : ready + takes;
      ends[i] = own;
      if (op.stream == Stream::kCompute) out = own;
      if (!slows_.empty() && slows_[i] && prices[i].held > 0) {
        holdings.push_back({ready, own, prices[i].held});
      }
    }
    return out;
  }

 private:
  /// What is left is rounded up where the pace changes, which need not be at the same places.
  SimTime beside(const std::vector<Holding>& holdings, SimTime start, SimTime takes) const {
    if (holdings.empty()) return start + takes;
    const SimTime end = end_beside(holdings, multiprocessors_, start, takes);
    return std::max(start + takes, end - 2 * std::ssize(holdings));
  }

  const Block& block_;
  const BlockDependencies& deps_;
  int multiprocessors_;
  std::vector<bool> slows_;  // by op; empty: none does
};

/// What the ops of one pass on a stream take.
SimTime total(const Block& block, Stream stream, const std::vector<PricedOp>& prices,
              std::size_t of) {
  SimTime out = 0;
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    if (block.ops[i].stream == stream) out += prices[i].takes[of];
  }
  return out;
}

/// What compute waits for in one pass, however slow its kernels are.
SimTime certain_waits(const Block& block, const BlockDependencies& deps,
                      std::vector<PricedOp> prices, std::size_t of) {
  constexpr SimTime kSlow = 1'000'000'000'000;  // a second: longer than any collective of a pass
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    if (block.ops[i].stream == Stream::kCompute) prices[i].takes[of] += kSlow;
  }
  return Chain(block, deps).end(prices, of) - total(block, Stream::kCompute, prices, of);
}

/// What kernels take behind the last one that writes a weight's gradient.
SimTime behind_gradients(const Plan& plan, const Block& block, const std::vector<PricedOp>& prices,
                         std::size_t of) {
  SimTime out = 0;
  for (std::size_t i = block.ops.size(); i-- > 0;) {
    const bool writes = std::ranges::any_of(block.ops[i].operands, [&](const Operand& o) {
      return o.use != Use::kRead && plan.tensors[o.tensor].kind == TensorClass::kGradient;
    });
    if (writes) break;
    if (block.ops[i].stream == Stream::kCompute) out += prices[i].takes[of];
  }
  return out;
}

/// How long compute is busy with one pass, or waits, while nothing else can run: another pass may
/// in front of each compute op that waits for what is on its way to or from experts.
SimTime turns(const Block& block, const BlockDependencies& deps,
              const std::vector<PricedOp>& prices, std::size_t of) {
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
    end[i] = clock[static_cast<std::size_t>(op.stream)] = ready + prices[i].takes[of];
    if (computes) out = end[i];
  }
  return out;
}

/// Layers of each kind in a probe: two, or as many for each of two stages; one where the model has
/// but one.
std::vector<std::int64_t> layers_in_probe(const std::vector<KindOfLayers>& kinds,
                                          std::int64_t stages) {
  std::vector<std::int64_t> out;
  for (const KindOfLayers& kind : kinds) out.push_back(kind.first ? 1 : 2 * stages);
  const bool uneven = kinds.front().first && stages > 1;
  if (uneven) ++out.back();
  return out;
}

/// The plan of one microbatch on the ranks that share it, with the layers above, one kind behind
/// the other; on two stages where the schedule cuts the backward pass in two.
Plan probe(Model model, Workload workload, const Strategy& base, Layout layout, Recompute kind) {
  const bool split = splits_backward(layout.schedule);
  layout.dp = layout.fsdp = 1, layout.pp = split ? 2 : 1;
  layout.chunks = 1, layout.first_layers = layout.last_layers = -1;
  layout.listed_pieces = false;
  layout.zero_stage = 0, layout.reshard = true;
  layout.schedule = split ? Schedule::kZbH1 : Schedule::k1f1b;
  if (model.windowed_layers() == 0) model.attention_window = 0;
  const std::vector<KindOfLayers> kinds = kinds_of_layers(model, workload.lora);
  model = with_layers(std::move(model), kinds, layers_in_probe(kinds, layout.pp));
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
  strategy.keep_weight_shard = false, strategy.zero_plus_plus = {}, strategy.offload = {};
  return make_plan(model, workload, strategy);
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

/// Where what a pass of the model takes is kept.
struct PlaceOfTimes {
  PassTimes* times = nullptr;  // null: nowhere
  std::string_view pass;       // "backward.weights"
};

PlaceOfTimes place_of(ShardTimes& t, std::string_view block,
                      const std::vector<KindOfLayers>& kinds) {
  const NameOfPass layer = pass_of_layer(block, kinds);
  if (!layer.pass.empty()) return {&t.layers[layer.kind], layer.pass};
  const std::size_t dot = block.find('.');
  const std::string_view piece = block.substr(0, dot);
  PassTimes* times = piece == "embedding"  ? &t.embedding
                     : piece == "head"     ? &t.head
                     : piece == "mtp"      ? &t.module
                     : piece == "mtp_head" ? &t.module_head
                                           : nullptr;
  if (times == nullptr || dot == std::string_view::npos) return {};
  return {times, block.substr(dot + 1)};
}

std::vector<bool> called_blocks(const Plan& plan) {
  std::vector<bool> out(plan.blocks.size());
  for (const Program& program : plan.programs) {
    for (const Call& call : program.calls) out[call.block] = true;
  }
  return out;
}

/// Of each block by its name: "layer.backward", "head.weight_grads".
ShardTimesOfBoth read_times(const Plan& plan, const std::vector<KindOfLayers>& kinds,
                            const std::vector<BlockDependencies>& within, const Prices& prices) {
  ShardTimesOfBoth out;
  const TensorId dx = tensor_named(plan, "dx");
  const bool split =
      std::ranges::any_of(plan.blocks, [](const Block& b) { return b.name.ends_with(".weights"); });
  const std::vector<bool> called = called_blocks(plan);
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    if (!called[b]) continue;  // layers as they would be without recomputation
    const Block& block = plan.blocks[b];
    const std::string_view pass = place_of(out[0], block.name, kinds).pass;
    const bool forward = pass.starts_with("forward");
    if (!forward && !pass.starts_with("backward")) continue;
    const std::vector<PricedOp> each = prices.of(block);
    const Chain chain(block, within[b], prices.multiprocessors());
    for (const std::size_t both : {std::size_t{0}, std::size_t{1}}) {
      PassTimes& times = *place_of(out[both], block.name, kinds).times;
      const SimTime takes = chain.end(each, both);
      const SimTime compute = total(block, Stream::kCompute, each, both);
      const SimTime alone = turns(block, within[b], each, both);
      const SimTime exchanges = total(block, Stream::kEp, each, both);
      times.kernels += compute;
      times.waits += certain_waits(block, within[b], each, both);
      if (!forward) times.behind_gradients = behind_gradients(plan, block, each, both);
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
        times.ahead = takes - chain.end(each, both, first_reader(block, dx));
      }
    }
  }
  return out;
}

ShardTimesByKind times_of(const Plan& plan, const std::vector<KindOfLayers>& kinds,
                          GradientTypes gradients, const CostModel& costs, Groups& groups,
                          bool interference) {
  const std::vector<BlockDependencies> within = dependencies_within_blocks(plan);
  const auto priced = [&](std::optional<std::size_t> kind) {
    return read_times(plan, kinds, within, {plan, costs, groups, gradients, kind, interference});
  };
  ShardTimesByKind all = {priced(std::nullopt), {}};
  const std::size_t nodes = groups.cluster().kinds();
  for (std::size_t k = 0; nodes > 1 && k < nodes; ++k) all.of_kind.push_back(priced(k));
  return all;
}

GradientTypes gradient_types(const Strategy& base, const Precision& p) {
  GradientTypes out = {written_gradients(base, p), p.gradients};
  const DType whole = type_of_whole_sums(base.fsdp.copies, 3, p);
  const bool sums_whole = base.fsdp.no_sync != NoSync::kNever;
  if (sums_whole && size_of(whole) < size_of(out.summed)) out.summed = whole;
  return out;
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
    Workload narrow = workload, plain = workload;
    narrow.precision = all_narrow(workload.precision);
    if (!has_both(workload.precision)) return of(narrow);
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
                                      const CostModel& costs, Groups& groups, bool interference) {
  const std::vector<KindOfLayers> kinds = kinds_of_layers(model, workload.lora);
  return with_each(workload, [&](const Workload& alike) {
    Layout whole = layout;
    whole.schedule = Schedule::k1f1b;
    const Plan plan = probe(model, alike, base, whole, layout.recompute);
    ShardCosts out;
    read_sizes(plan, kinds, alike.lora.any(), strategy_of(whole, base).pipeline, out.sizes);
    read_memory(plan, kinds, model.mtp_layers, out.sizes);
    const GradientTypes gradients = gradient_types(base, alike.precision);
    if (!partly_recomputed(base, layout)) {
      out.times = times_of(plan, kinds, gradients, costs, groups, interference);
      return out;
    }
    const Plan once = probe(model, alike, base, whole, Recompute::kNone);
    out.times = times_of(once, kinds, gradients, costs, groups, interference);
    ShardSizes of_once;
    read_memory(once, kinds, model.mtp_layers, of_once);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      LayerSizes& layer = out.sizes.layers[k];
      layer.beside_backward = layer.beside_gradients = layer.copies = {};
      layer.saved = std::min(layer.saved, of_once.layers[k].saved);
    }
    return out;
  });
}

std::optional<ShardTimesByKind> split_times(const Model& model, const Workload& workload,
                                            const Strategy& base, const Layout& layout,
                                            const CostModel& costs, Groups& groups,
                                            bool interference) {
  const std::vector<KindOfLayers> kinds = kinds_of_layers(model, workload.lora);
  return with_each(workload, [&](const Workload& alike) {
    const bool partly = partly_recomputed(base, layout);
    const Plan plan =
        probe(model, alike, base, layout, partly ? Recompute::kNone : layout.recompute);
    return times_of(plan, kinds, gradient_types(base, alike.precision), costs, groups,
                    interference);
  });
}

}  // namespace plait
