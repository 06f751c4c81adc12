// Mixtures of experts as Megatron-LM has them. Ranks of a stage are counted twice there: as tp x cp
// x dp, and for the experts as etp x ep x the rest, each from the ranks that lie closest together.
// So an expert's ranks are some or all of those along tp, and those that exchange tokens follow:
// the others along tp, then those along cp, then replicas (megatron/core/parallel_state.py,
// initialize_model_parallel).
//
// --moe-layer-freq is each so-many-th layer that has experts, counted from the first, or a list
// with 1 for each layer that has, as Python writes it: ([0]*3+[1]*58), ([0]+[1])*12
// (megatron/training/arguments.py, moe_freq_type).
//
// With --moe-grouped-gemm a rank's experts are one layer, Transformer Engine's GroupedLinear, which
// calls cuBLAS once per expert: kernels.experts "eager". Without it they are layers of their own,
// one behind the other (megatron/core/transformer/moe/experts.py, SequentialMLP).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "core/json.h"
#include "core/quantity.h"
#include "plan/refusal.h"
#include "scenarios/ampere.h"
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr const char *kExperts = "--num-experts", *kLayerFrequency = "--moe-layer-freq",
                     *kEp = "--expert-model-parallel-size", *kEtp = "--expert-tensor-parallel-size",
                     *kCapacity = "--moe-expert-capacity-factor",
                     *kPads = "--moe-pad-expert-input-to-capacity",
                     *kDispatcher = "--moe-token-dispatcher-type",
                     *kDeepEp = "--moe-enable-deepep",                 // with the dispatcher flex
                         *kBackend = "--moe-flex-dispatcher-backend",  // the same of later versions
                             *kBesidePasses = "--overlap-moe-expert-parallel-comm",
                     *kOneLayer = "--moe-grouped-gemm", *kGraphs = "--cuda-graph-impl",
                     *kInGraphs = "--cuda-graph-scope";
constexpr Same kMixtureSizes[] = {
    {kExperts, "model.experts"},
    {"--moe-router-topk", "model.experts_per_token"},
    {"--moe-ffn-hidden-size", "model.expert_ffn_hidden"},
};
constexpr const char *kSharedGate = "--moe-shared-expert-gate",
                     *kSharedExperts = "--n-shared-experts",  // MindSpeed-LLM's, as is
                         *kFirstDense = "--first-k-dense-replace";
constexpr Same kSharedSize = {"--moe-shared-expert-intermediate-size", "model.shared_ffn_hidden"};

/// Which layers have experts: all from one on, each so-many-th.
struct LayersOfExperts {
  std::int64_t first = 0, every = 1;
  bool operator==(const LayersOfExperts&) const = default;
};

/// Nothing where the list follows no such rule.
std::optional<LayersOfExperts> rule_of(const std::vector<bool>& experts) {
  const auto next = [&](auto from) { return std::find(from, experts.end(), true); };
  const auto first = next(experts.begin());
  if (first == experts.end()) return std::nullopt;
  const auto second = next(first + 1);
  LayersOfExperts rule{first - experts.begin(), second == experts.end() ? 1 : second - first};
  Model m;
  m.experts = 1, m.first_dense_layers = rule.first, m.moe_every = rule.every;
  for (std::size_t l = 0; l < experts.size(); ++l) {
    if (m.has_experts(static_cast<std::int64_t>(l)) != experts[l]) return std::nullopt;
  }
  return rule;
}

/// "[0]*3+[1]*58", "([1]*3+[0])*3", "[0,1,0,1]": lists, added, repeated and in parentheses.
class LayerList {
 public:
  explicit LayerList(std::string text) : text_(std::move(text)) { std::erase(text_, ' '); }
  std::optional<std::vector<bool>> read() {
    std::vector<bool> out;
    if (!sum(out) || at_ != text_.size()) return std::nullopt;
    return out;
  }

 private:
  static constexpr int kMostNested = 100;

  bool take(char c) {
    const bool there = at_ < text_.size() && text_[at_] == c;
    if (there) ++at_;
    return there;
  }
  bool number(std::int64_t& out) {
    const char* const from = text_.data() + at_;
    const auto [end, error] = std::from_chars(from, text_.data() + text_.size(), out);
    at_ += static_cast<std::size_t>(end - from);
    return error == std::errc();
  }
  bool sum(std::vector<bool>& out) {
    do {
      if (!repeated(out)) return false;
    } while (take('+'));
    return true;
  }
  bool repeated(std::vector<bool>& out) {
    std::vector<bool> part;
    if (!one(part)) return false;
    std::int64_t times = 1;
    while (take('*')) {
      std::int64_t factor = 0;
      if (!number(factor) || factor < 0 || factor > kMostLayers) return false;
      times *= factor;
      if (times * std::ssize(part) > kMostLayers) return false;
    }
    for (std::int64_t i = 0; i < times; ++i) out.insert(out.end(), part.begin(), part.end());
    return std::ssize(out) <= kMostLayers;
  }
  bool one(std::vector<bool>& out) {
    if (take('(')) {
      if (++nested_ > kMostNested || !sum(out)) return false;
      --nested_;
      return take(')');
    }
    if (!take('[')) return false;
    do {
      std::int64_t layer = 0;
      if (!number(layer)) return false;
      out.push_back(layer != 0);
    } while (take(','));
    return take(']');
  }

  std::string text_;
  std::size_t at_ = 0;
  int nested_ = 0;
};

void write_layers(ExportDraft& d) {
  const Model& m = d.scenario.model;
  const LayersOfExperts rule{m.first_dense_layers, m.moe_every};
  std::vector<bool> experts;
  for (std::int64_t l = 0; l < m.layers; ++l) experts.push_back(m.has_experts(l));
  if (rule.first == 0) {
    d.set(kLayerFrequency, rule.every);
  } else {
    d.set(kLayerFrequency, fmt::format("'[{:d}]'", fmt::join(experts, ",")));
  }
  // Two rules may say the same of all layers, of which a list is read as one.
  if (rule.first == 0 || rule_of(experts) == rule) {
    d.say({"model.first_dense_layers", "model.moe_every"});
  }
}

/// D009: megatron/core/transformer/moe/moe_layer.py, MoELayer.forward, trains experts beside tensor
/// parallelism with sequence parallelism alone.
void refuse_whole_sequences(const Scenario& s) {
  if (s.strategy.mesh.size_of(kTensorAxes) == 1 || s.strategy.sequence_parallel) return;
  throw locate(refusal("D009",
                       "Megatron-LM trains no experts with tensor parallelism and without "
                       "sequence parallelism",
                       "strategy.sequence_parallel", "true, or tp = 1",
                       "--set strategy.sequence_parallel=true"),
               s);
}

/// arguments.py: expert parallelism is not supported with fp16.
void refuse_fp16(const Scenario& s, std::int64_t ranks) {
  if (ranks == 1 || s.workload.precision.weights != DType::kFp16) return;
  throw locate(refusal("D009", "Megatron-LM exchanges no tokens of experts in fp16",
                       "workload.precision.weights", "bf16 or fp32",
                       "change it, or keep all experts on every rank"),
               s);
}

void write_ranks(ExportDraft& d) {
  const Strategy& s = d.scenario.strategy;
  const std::int64_t tp = s.mesh.size_of(kTensorAxes), cp = s.mesh.size_of(kContextAxes);
  const std::int64_t of_expert = s.experts.ranks_of_one(tp), ep = s.mesh[Axis::kEp];
  const bool over_cp = s.experts.axes.has(Axis::kCp);
  if (!counts_ranks_of_experts(s)) return;
  const std::int64_t exchanging = ep * (over_cp ? cp : 1) * (tp / of_expert);
  refuse_fp16(d.scenario, exchanging);
  d.set(kEp, exchanging);
  d.set(kEtp, of_expert);
  d.say({"strategy.ep"});
  // Read are the axes that there are.
  const bool as_read = (over_cp == (cp > 1 && (ep > 1 || over_cp))) &&
                       s.experts.axes.has(Axis::kTp) == (of_expert < tp) &&
                       (of_expert < tp ? s.experts.tp == of_expert : s.experts.tp == 1);
  if (as_read) d.say({"strategy.expert_axes"});
  if (as_read && s.experts.tp > 1) d.say({"strategy.expert_tp"});
}

/// How tokens come to their experts, and beside what.
void write_exchange(ExportDraft& d) {
  const Scenario& s = d.scenario;
  const bool gathers = s.strategy.experts.dispatch == ExpertDispatch::kAllGather;
  const bool deepep = !gathers && s.kernels.exchange == Dispatcher::kDeepEp;
  d.set(kDispatcher, gathers ? "allgather" : deepep ? "flex" : "alltoall");
  if (deepep) d.set(kDeepEp);
  d.say({"strategy.expert_dispatch"});
  if (deepep || s.kernels.exchange == Dispatcher::kNccl) d.say({"kernels.exchange"});
  const ExchangeOverlap overlap = s.strategy.pipeline.exchange_overlap;
  if (overlap == ExchangeOverlap::kPasses) d.set(kBesidePasses);
  if (overlap != ExchangeOverlap::kNone) d.say({"strategy.pipeline.exchange_overlap"});
}

LayersOfExperts read_layers(Arguments& args, std::int64_t layers) {
  const auto text = args.text(kLayerFrequency);
  // MindSpeed-LLM's first layers without experts, and behind them each whose number, from 0, is a
  // multiple (mindspeed_llm/core/transformer/transformer_block.py).
  const std::int64_t dense = args.integer(kFirstDense, 0).value_or(0);
  if (!text) return {dense, 1};
  if (text->find('[') == std::string::npos) {
    const std::int64_t every = args.integer(kLayerFrequency).value_or(1);
    return {round_up(dense, every), every};
  }
  const auto list = LayerList(*text).read();
  const bool of_all = list && (layers == 0 || std::ssize(*list) == layers);
  const auto rule = of_all ? rule_of(*list) : std::nullopt;
  if (!rule)
    args.unsupported(kLayerFrequency, "a list that is not one of all layers, or has no rule");
  return *rule;
}

/// Experts that see every token: their width, or how many of `width` each.
void read_shared(Arguments& args, Imported& out, std::int64_t width) {
  const auto size = args.integer(kSharedSize.argument, 0), count = args.integer(kSharedExperts, 0);
  const std::string_view by = size || !count ? kSharedSize.argument : kSharedExperts;
  const std::int64_t shared = size.value_or(count.value_or(0) * width);
  out.give(std::string(kSharedSize.path), std::to_string(shared), args.line(by));
  out.give("model.shared_expert_gate", json_bool(args.flag(kSharedGate) && shared > 0),
           args.line(kSharedGate));
}

void read_ranks(Arguments& args, Imported& out, const Ranks& of) {
  const std::int64_t ep = args.integer(kEp).value_or(1);
  const std::int64_t of_expert = args.integer(kEtp).value_or(of.tp);
  if (of.tp % of_expert != 0) args.unsupported(kEtp, "experts split over more ranks than the rest");
  const std::int64_t beside = of.tp / of_expert;
  if (ep % beside != 0) args.unsupported(kEp, "copies of an expert along tp");
  const std::int64_t rest = ep / beside;
  const bool over_cp = of.cp > 1 && rest > 1;
  if (over_cp && rest % of.cp != 0) args.unsupported(kEp, "groups across some of the ranks of cp");
  out.give("strategy.ep", std::to_string(over_cp ? rest / of.cp : rest), args.line(kEp));
  out.give("strategy.expert_axes",
           fmt::format("\"{}ep{}\"", over_cp ? "cp+" : "", beside > 1 ? "+tp" : ""),
           args.line(kEtp));
  out.give("strategy.expert_tp", std::to_string(beside > 1 ? of_expert : 1), args.line(kEtp));
}

/// Megatron-LM gathers where nothing is said (megatron/training/arguments.py).
void read_dispatcher(Arguments& args, Imported& out) {
  const auto dispatcher =
      args.one_of(kDispatcher, {"allgather", "alltoall", "flex"}).value_or("allgather");
  const auto backend = args.one_of(kBackend, {"deepep", "hybridep"});
  const bool flexes = dispatcher == "flex" && backend.has_value();
  const bool deepep = args.flag(kDeepEp) || flexes;
  if (deepep && dispatcher != "flex") {
    args.contradiction(kDeepEp, fmt::format("{} {}", kDispatcher, dispatcher));
  }
  out.give("kernels.exchange", deepep ? R"("deepep")" : R"("nccl")",
           args.line(flexes ? kBackend : kDeepEp));
  if (flexes && backend == "hybridep") {
    out.warnings.push_back({"W008", fmt::format("{} hybridep is read as deepep", kBackend)});
  }
  if (dispatcher == "flex" && !deepep) {
    out.warnings.push_back({"W008", fmt::format("{} flex is read as alltoall", kDispatcher)});
  }
  const bool gathers = dispatcher == "allgather";
  out.give("strategy.expert_dispatch", gathers ? R"("all_gather")" : R"("all_to_all")",
           args.line(kDispatcher));
}

void read_overlap(Arguments& args, Imported& out) {
  out.give("strategy.pipeline.exchange_overlap",
           args.flag(kBesidePasses) ? R"("passes")" : R"("schedule")", args.line(kBesidePasses));
}

/// Which kernels one layer has, the framework or the base says.
void read_grouping(Arguments& args, Imported& out) {
  if (args.flag(kOneLayer)) return;
  out.warnings.push_back(
      {"W008",
       fmt::format("experts without {} are read as products of one layer, one behind the other",
                   kOneLayer)});
  out.give("kernels.experts", R"("eager")");
}

/// CUDA graphs of the choice of experts, up to where the host waits for it: of versions behind the
/// one that exports are for.
void read_graphs(Arguments& args, Imported& out) {
  const Arguments::Option* scope = args.find(kInGraphs);
  if (scope == nullptr) return;
  args.text(kGraphs);
  std::set<std::string> parts;
  for (const ShellWord& w : scope->values) parts.insert(w.text);
  const bool both = parts.erase("moe_router") + parts.erase("moe_preprocess") == 2;
  if (both) out.give("host.routing_graph", "true", scope->line);
  if (!both || !parts.empty())
    warn_unread({fmt::format("other parts in {}", kInGraphs)}, out.warnings);
}

}  // namespace

bool counts_ranks_of_experts(const Strategy& s) {
  const bool leaves_out = s.mesh.size_of(kContextAxes) > 1 && !s.experts.axes.has(Axis::kCp);
  return !leaves_out || s.mesh[Axis::kEp] == 1;
}

void write_experts(ExportDraft& d) {
  const Model& m = d.scenario.model;
  if (m.experts == 0) return d.say({"model.experts"});
  refuse_whole_sequences(d.scenario);
  for (const Same& same : kMixtureSizes) d.copy(std::string(same.argument), same.path);
  if (m.shared_ffn_hidden > 0) d.set(std::string(kSharedSize.argument), m.shared_ffn_hidden);
  d.say({kSharedSize.path});
  write_layers(d);
  const double capacity = d.scenario.workload.capacity_factor;
  if (capacity > 0) d.set(kCapacity, fmt::format("{}", capacity)), d.set(kPads);
  d.say({"workload.capacity_factor"});
  write_exchange(d);
  // arguments.py: grouped products are of bf16 alone, on compute capability 8.0 and above.
  const bool grouped = d.scenario.workload.precision.weights == DType::kBf16 &&
                       !predates_ampere(d.scenario.cluster.device);
  if (grouped) d.set(kOneLayer);
  if (!grouped) d.contradict("kernels.experts");
  write_ranks(d);
  // What it does since 0.12.
  if (d.scenario.strategy.experts.gates == ExpertGates::kActivations) {
    d.say({"strategy.expert_gates"});
  }
}

std::int64_t experts_of(Arguments& args, const Fork& fork) {
  const std::int64_t experts = args.integer(kExperts, 0).value_or(0);
  return fork.deepspeed && experts == 1 ? 0 : experts;
}

void read_experts(Arguments& args, Imported& out, const Ranks& of, std::int64_t layers,
                  std::int64_t ffn_hidden) {
  const std::int64_t experts = args.integer(kExperts, 0).value_or(0);
  const std::int64_t defaults[] = {experts, 2, ffn_hidden};  // Megatron-LM's
  if (experts == 0) {
    if (layers > 0) out.give("model.experts", "0", args.line(kExperts));
    return;
  }
  for (std::size_t i = 0; i < std::size(kMixtureSizes); ++i) {
    const std::string_view argument = kMixtureSizes[i].argument;
    const std::int64_t value = args.integer(argument).value_or(defaults[i]);
    out.give(std::string(kMixtureSizes[i].path), std::to_string(value), args.line(argument));
  }
  read_shared(args, out, args.integer(kMixtureSizes[2].argument).value_or(ffn_hidden));
  const LayersOfExperts rule = read_layers(args, layers);
  out.give("model.first_dense_layers", std::to_string(rule.first), args.line(kLayerFrequency));
  out.give("model.moe_every", std::to_string(rule.every), args.line(kLayerFrequency));
  // Without padding experts have the tokens that come, of which those beyond the limit are left
  // out: none where all have as many.
  const bool pads = args.flag(kPads);
  out.give("workload.capacity_factor", json_number(pads ? args.number(kCapacity).value_or(0) : 0),
           args.line(kPads));
  read_dispatcher(args, out);
  read_overlap(args, out);
  read_grouping(args, out);
  read_graphs(args, out);
  read_ranks(args, out, of);
  out.give("strategy.expert_gates", R"("activations")", args.line(kExperts));
}

}  // namespace plait::megatron
