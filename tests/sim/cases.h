#pragma once
// Small models on small machines: a fixed one to vary by hand, and random ones for properties.

#include <algorithm>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "costmodel/costmodel.h"
#include "model/model.h"
#include "plan/plan.h"
#include "plan/schedule.h"
#include "topologies/catalogue.h"

namespace plait {

struct Case {
  Model model;
  Workload workload;
  Strategy strategy;
  ClusterSpec machine;
  double launch = 1;  // of the device's launch overhead: small, and sizes matter more
  Host host;
  std::vector<std::int64_t> placement;

  Plan plan() const { return make_plan(model, workload, strategy); }
  CostModel costs() const {
    CostModel out;
    out.host = host;
    return out;
  }
  Cluster cluster() const {
    Cluster c = make_cluster(machine);
    c.device.launch_overhead *= launch;
    for (OtherKind& o : c.others) o.device.launch_overhead *= launch;
    return c;
  }
};

inline Model tiny_llama() {
  Model m;
  m.name = "tiny-llama";
  m.layers = 4, m.hidden = 96, m.ffn_hidden = 192, m.heads = m.kv_heads = 12, m.head_dim = 8;
  m.vocab = 384;
  return m;
}
inline Model tiny_gpt() {
  Model m = tiny_llama();
  m.name = "tiny-gpt";
  m.norm = NormKind::kLayerNorm, m.activation = ActivationKind::kGelu, m.gated_mlp = false;
  m.positions = PositionKind::kLearned, m.max_positions = 64;
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  m.tied_embeddings = true;
  return m;
}

/// pp x dp x fsdp x tp on one node of H100s, two microbatches.
inline Case small_case(std::int64_t pp, std::int64_t dp, std::int64_t fsdp, std::int64_t tp) {
  Case c;
  c.model = tiny_llama();
  Mesh& mesh = c.strategy.mesh;
  mesh[Axis::kPp] = pp, mesh[Axis::kDp] = dp, mesh[Axis::kFsdp] = fsdp, mesh[Axis::kTp] = tp;
  c.strategy.zero_stage = fsdp > 1 ? 3 : 0;
  c.workload.sequence_length = 24;
  c.workload.global_batch = 2 * dp * fsdp;
  c.machine.devices_per_node = mesh.world_size();
  return c;
}

/// Nodes like `node`, their devices at `speed` times the speed.
inline OtherNodes slower_nodes(std::int64_t first, std::int64_t last, const NodeSpec& node,
                               double speed) {
  Device device = find_device(node.device);
  device.peak_bf16 *= speed, device.peak_fp32 *= speed, device.vector_fp32 *= speed;
  device.memory_bandwidth *= speed;
  return {first, last, node, device};
}

/// The same on two kinds of nodes, if there are two nodes: devices, switches and links differ.
inline Case mixed(Case c) {
  ClusterSpec& m = c.machine;
  if (m.nodes < 2) return c;
  const bool modern = m.preset == "hgx-h100";
  const NodeSpec other = find_node(modern                   ? "dgx-a100"
                                   : m.preset == "dgx-a100" ? "hgx-h100"
                                                            : m.preset);
  m.other_nodes = {slower_nodes(m.nodes / 2, m.nodes - 1, other, 0.5)};
  return c;
}

/// `pick(a, b)` draws an integer from a to b.
template <class Pick>
class RandomCase {
 public:
  explicit RandomCase(const Pick& pick) : pick_(pick) {}

  Case draw() {
    Case c;
    draw_mesh(c.strategy.mesh);
    draw_schedule(c);
    draw_model(c.model);
    draw_strategy(c);
    draw_workload(c);
    draw_machine(c);
    draw_host(c.host);
    if (c.strategy.mesh.world_size() <= 16 && pick_(0, 2) == 0) draw_context(c);
    if (c.strategy.mesh.world_size() <= 16 && pick_(0, 3) == 0) draw_experts(c);
    if (c.strategy.zero_stage == 3 && pick_(0, 3) == 0) draw_zero_plus_plus(c.strategy);
    return c;
  }

 private:
  bool coin() { return pick_(0, 1) == 1; }

  void draw_mesh(Mesh& mesh) {
    std::int64_t left = 32;
    for (Axis a : {Axis::kPp, Axis::kTp, Axis::kDp, Axis::kFsdp}) {
      mesh[a] = pick_(1, std::min<std::int64_t>(4, left));
      left /= mesh[a];
    }
  }
  void draw_schedule(Case& c) {
    PipelineOptions& p = c.strategy.pipeline;
    const std::int64_t stages = c.strategy.mesh[Axis::kPp];
    p.schedule = static_cast<Schedule>(
        pick_(0, stages > 1 ? static_cast<std::int64_t>(kSchedules.size()) - 1 : 1));
    p.chunks = kind_of(p.schedule).fewest_chunks;
    const bool pairs = kind_of(p.schedule).shape == PipelineShape::kBothWays;
    if (pairs && stages % 2 != 0) p.schedule = Schedule::kDualPipeV;  // S036
    const std::int64_t pieces = PieceMap(p.schedule, stages, p.chunks).count();
    c.model.layers = pieces * pick_(1, 2);
    if (pieces < 2 || coin()) return;
    p.first_stage_layers = pick_(0, 2), p.last_stage_layers = pick_(pieces == 2 ? 1 : 0, 2);
    c.model.layers = p.first_stage_layers + p.last_stage_layers + (pieces - 2) * pick_(1, 2);
  }
  void draw_model(Model& m) {
    const std::int64_t layers = m.layers;
    m = coin() ? tiny_llama() : tiny_gpt();
    m.layers = layers;
    m.tied_embeddings = coin();
    m.ffn_hidden *= pick_(1, 4);
    if (m.positions == PositionKind::kLearned) m.dropout = coin() ? 0.1 : 0;
  }
  void draw_strategy(Case& c) {
    Strategy& s = c.strategy;
    const std::int64_t dp = s.mesh[Axis::kDp], fsdp = s.mesh[Axis::kFsdp];
    s.sequence_parallel = s.mesh[Axis::kTp] > 1 && coin();
    s.pipeline.scatter_gather = coin();
    s.zero_stage = static_cast<int>(fsdp > 1 ? pick_(1, 3) : dp > 1 ? pick_(0, 3) : 0);
    if (s.mesh[Axis::kPp] > 1 && s.zero_stage >= 2) c.model.tied_embeddings = false;  // S025
    s.keep_weight_shard = s.zero_stage == 3 && coin();
    constexpr Recompute kKinds[] = {Recompute::kNone, Recompute::kSelective, Recompute::kOps,
                                    Recompute::kFull};
    s.recompute.kind = kKinds[pick_(0, 3)];
    s.recompute.layers = s.recompute.kind == Recompute::kFull ? pick_(0, 1) * 2 - 1 : -1;
    s.data.bucket = Bytes(pick_(1, 400) * 1000);
    s.data.overlap = coin();
    s.fsdp.reshard_after_forward = coin();
    s.fsdp.prefetch = pick_(0, 3);
    s.fsdp.copies = static_cast<FsdpCopies>(pick_(0, 3));
    s.fsdp.no_sync = static_cast<NoSync>(pick_(0, 3));
    s.fsdp.root = coin(), s.fsdp.reshard_last_layer = coin();
  }
  void draw_workload(Case& c) {
    Workload& w = c.workload;
    const Mesh& mesh = c.strategy.mesh;
    const bool interleaved = c.strategy.pipeline.schedule == Schedule::kInterleaved;
    const std::int64_t fewest = both_ways(c.strategy) ? 2 : 1;  // S038
    const std::int64_t microbatches =
        interleaved ? mesh[Axis::kPp] * pick_(1, 2) : pick_(fewest, 5);
    w.sequence_length = 24;
    w.micro_batch = pick_(1, 2);
    w.global_batch = microbatches * w.micro_batch * mesh[Axis::kDp] * mesh[Axis::kFsdp];
    w.flash_attention = coin();
    w.gradient_clipping = coin();
    if (coin()) w.precision.reduction = DType::kBf16;
    if (pick_(0, 3) == 0) w.precision.weights = w.precision.reduction = DType::kFp32;
  }
  /// Twice or three times the devices, which share each sequence.
  void draw_context(Case& c) {
    Strategy& s = c.strategy;
    const std::int64_t tp = s.mesh[Axis::kTp], cp = pick_(2, 3);
    const auto kind = static_cast<ContextKind>(pick_(0, 3));
    const bool heads = kind == ContextKind::kUlysses || kind == ContextKind::kHybrid;
    if (heads && c.model.heads / tp % cp != 0) return;
    s.context.kind = kind;
    if (kind == ContextKind::kHybrid) s.context.ulysses = cp;
    s.share_tokens(cp);
    if (c.workload.sequence_length / cp % tp != 0) s.sequence_parallel = false;
    if (kind == ContextKind::kRing) c.workload.flash_attention = true;
    c.machine.nodes *= cp;
    if (!c.placement.empty()) shuffle(c.placement, s.mesh.world_size());
  }
  /// Twice the devices, each half with half of the experts, for twice the sequences.
  void draw_experts(Case& c) {
    Model& m = c.model;
    m.experts = 2 * pick_(1, 2), m.experts_per_token = pick_(1, 2);
    m.expert_ffn_hidden = m.ffn_hidden, m.shared_ffn_hidden = pick_(0, 1) * m.ffn_hidden;
    m.mlp_bias = false;
    c.workload.expert_skew = 1 + static_cast<double>(pick_(0, 2)) / 4;
    if (c.strategy.recompute.kind == Recompute::kOps) c.strategy.recompute.kind = Recompute::kFull;
    c.strategy.mesh[Axis::kEp] = 2, c.workload.global_batch *= 2, c.machine.nodes *= 2;
    if (!c.placement.empty()) shuffle(c.placement, c.strategy.mesh.world_size());
  }
  void draw_zero_plus_plus(Strategy& s) {
    ZeroPlusPlusOptions& z = s.zero_plus_plus;
    z.secondary_shard = s.mesh[Axis::kDp] > 1 && s.mesh[Axis::kFsdp] > 1 && coin();
    z.quantized_weights = coin(), z.quantized_gradients = coin();
  }
  /// Also nodes that tp does not divide, several pods, and ranks on shuffled devices.
  void draw_machine(Case& c) {
    constexpr const char* kPresets[] = {"hgx-h100", "dgx-a100", "pcie-8", "gb200-nvl72"};
    const std::int64_t world = c.strategy.mesh.world_size();
    std::vector<std::int64_t> divisors;
    for (std::int64_t d = 1; d <= world; ++d) {
      if (world % d == 0) divisors.push_back(d);
    }
    ClusterSpec& m = c.machine;
    m.preset = kPresets[pick_(0, 3)];
    m.devices_per_node = divisors[static_cast<std::size_t>(
        pick_(0, static_cast<std::int64_t>(divisors.size()) - 1))];
    m.nodes = world / *m.devices_per_node;
    m.fabric = coin() ? "ndr400" : "roce100";
    m.nodes_per_pod = pick_(1, 3);
    c.launch = coin() ? 1 : 0.001;
    for (std::int64_t n = pick_(0, 3); n > 0; --n) {
      const Slowdown one{pick_(0, world - 1), 1 + static_cast<double>(pick_(1, 8)) / 16};
      if (std::ranges::count(m.slowdowns, one.device, &Slowdown::device) == 0)
        m.slowdowns.push_back(one);
    }
    m.jitter = pick_(0, 3) == 0 ? 0.1 : 0;
    if (pick_(0, 2) == 0) shuffle(c.placement, world);
  }
  /// From faster than the kernels to slower, in half of the cases.
  void draw_host(Host& h) {
    if (coin()) return;
    h.launch_time =
        Seconds(1e-8 * static_cast<double>(pick_(0, 1) == 0 ? pick_(1, 20) : pick_(100, 2000)));
    h.collective_time = Seconds(1e-8 * static_cast<double>(pick_(0, 4000)));
    h.graphs = pick_(0, 3) == 0;
    h.waits_for_messages = coin();
    h.waits_for_routing = coin();
    h.waits_for_lengths = pick_(0, 3) == 0;
    h.waits_for_passes = pick_(0, 7) == 0;
    h.blocking = pick_(0, 7) == 0;
  }
  void shuffle(std::vector<std::int64_t>& order, std::int64_t n) {
    order.resize(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t i = n - 1; i > 0; --i) {
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(pick_(0, i))]);
    }
  }

  const Pick& pick_;
};

inline std::ostream& operator<<(std::ostream& out, const Case& c) {
  const Strategy& s = c.strategy;
  out << c.model.name << " layers " << c.model.layers << " experts " << c.model.experts
      << (c.model.tied_embeddings ? " tied" : "") << " dropout " << c.model.dropout;
  for (int a = 0; a < kAxes; ++a) {
    out << ", " << kAxisNames[static_cast<std::size_t>(a)] << " " << s.mesh[static_cast<Axis>(a)];
  }
  out << ", sp " << s.sequence_parallel << ", zero " << s.zero_stage << " keep "
      << s.keep_weight_shard << ", schedule " << static_cast<int>(s.pipeline.schedule) << " first "
      << s.pipeline.first_stage_layers << " last " << s.pipeline.last_stage_layers << ", recompute "
      << static_cast<int>(s.recompute.kind) << " of " << s.recompute.layers << ", bucket "
      << s.data.bucket.value << ", overlap " << s.data.overlap << ", reshard "
      << s.fsdp.reshard_after_forward << ", prefetch " << s.fsdp.prefetch << ", copies "
      << name_of(s.fsdp.copies) << ", root " << s.fsdp.root << ", last layer "
      << s.fsdp.reshard_last_layer << ", context " << name_of(s.context.kind) << ", ZeRO++ "
      << s.zero_plus_plus.secondary_shard << s.zero_plus_plus.quantized_weights
      << s.zero_plus_plus.quantized_gradients << ", batch " << c.workload.global_batch << " by "
      << c.workload.micro_batch << ", clip " << c.workload.gradient_clipping << ", weights "
      << name_of(c.workload.precision.weights) << ", reduction "
      << name_of(c.workload.precision.reduction) << "\non " << c.machine.nodes << " x "
      << *c.machine.devices_per_node << " " << c.machine.preset << " " << c.machine.fabric
      << " pod " << c.machine.nodes_per_pod.value_or(0) << ", launch " << c.launch << ", jitter "
      << c.machine.jitter << ", host " << c.host.launch_time.value << " and "
      << c.host.collective_time.value << " graphs " << c.host.graphs << " waits "
      << c.host.waits_for_messages << " passes " << c.host.waits_for_passes << ", slow";
  for (const Slowdown& d : c.machine.slowdowns) out << " " << d.device << " x " << d.factor;
  for (const OtherNodes& o : c.machine.other_nodes) {
    out << ", nodes " << o.first << " to " << o.last << " " << o.node.name;
  }
  out << ", placement";
  for (std::int64_t d : c.placement) out << " " << d;
  return out;
}

}  // namespace plait
