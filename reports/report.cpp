#include "reports/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "model/iteration_flops.h"
#include "plan/places.h"
#include "reports/human.h"
#include "reports/json.h"
#include "topologies/graph.h"

namespace plait {
namespace {

/// FLOPs by the convention of Plan::model_flops, which counts the whole attention square; that of
/// each document where kernels skip what is between them.
Flops whole_square_flops(const Compute& op) {
  const Attention* a = std::get_if<Attention>(&op);
  if (a == nullptr) return flops(op);
  Attention whole = *a;
  whole.causal = false;
  if (!a->fused) whole.documents = {};
  return flops(whole);
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

std::vector<ReportShare> shares(const std::vector<Share>& from, double step_time_s) {
  std::vector<ReportShare> out;
  for (const Share& s : from) {
    out.push_back({s.group, s.name, s.time.value, ratio(s.time.value, step_time_s)});
  }
  return out;
}

/// Rates end in _flops or _bandwidth; the other resources are times, of which less is better.
bool is_rate(const std::string& resource) {
  return resource.ends_with("_bandwidth") || resource.ends_with("_flops");
}

bool same_collective(const Collective& a, const Collective& b) {
  return a.kind == b.kind && a.axes == b.axes && a.bytes() == b.bytes() && a.stages == b.stages &&
         a.projections == b.projections;
}

/// Calls of `op` in one step, on the stage that makes the most of them.
std::int64_t calls_of(const Plan& plan, const StepCounts& counts, const Collective& op) {
  std::int64_t most = 0;
  for (const std::vector<std::int64_t>& runs : counts.runs) {
    std::int64_t calls = 0;
    for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
      for (const Op& o : plan.blocks[b].ops) {
        const auto* c = std::get_if<Collective>(&o.body);
        if (c != nullptr && same_collective(*c, op)) calls += runs[b];
      }
    }
    most = std::max(most, calls);
  }
  return most;
}

/// Whether switches leave a group less than its NICs: of what they carry more all gets through.
bool is_held_up(const ChosenCollective& c, const Cluster& cluster) {
  const bool exchanges = c.op.kind == CollectiveKind::kAllToAll;
  const Path& path = exchanges ? c.group.exchange : c.group.inter;
  const auto sharers = std::ranges::max(cluster.graph->kind(0).devices_per_nic);
  const double of_nic = path.bandwidth * static_cast<double>(sharers) / cluster.nic_bandwidth;
  return of_nic < 1 - 1e-9;
}

/// What a tenth more of a resource saves of its time. NICs that no switch holds up gain no more
/// than their PCIe slots let through.
double saved_by_a_tenth_more(const std::string& resource, const ReportInputs& in) {
  constexpr double kAll = 1 - 1 / 1.1;
  const Graph& g = *in.cluster.graph;
  const Resource nics = bandwidth_of(g.fabric.link);
  const std::vector<BytesPerSecond>& slots = g.kind(0).slot_of_nic;
  if (in.cluster.nodes == 1 || resource != resource_name(nics) || slots.empty()) return kAll;
  const double let_through = std::ranges::min(slots) * kNicForPcie / in.cluster.nic_bandwidth;
  double held_up = 0, time = 0;
  for (const ChosenCollective& c : in.collectives) {
    if (c.group.nodes == 1) continue;
    const double all =
        static_cast<double>(calls_of(in.plan, in.counts, c.op)) * c.cost.cost.share[nics].value;
    time += all, held_up += is_held_up(c, in.cluster) ? all : 0;
  }
  const double at_slots = 1 - 1 / std::clamp(let_through, 1.0, 1.1);
  return at_slots + (kAll - at_slots) * ratio(held_up, time);
}

std::vector<SensitivityLine> sensitivities(const ReportInputs& in, double step_time_s) {
  std::vector<SensitivityLine> out;
  for (const Sensitivity& s : in.explanation.sensitivity) {
    // t / 1.1 instead of t for a rate, 0.9 t instead of t for a time.
    const double saved = is_rate(s.resource) ? saved_by_a_tenth_more(s.resource, in) : 0.1;
    const double saved_s = saved * s.time.value;
    out.push_back({s.resource, s.time.value, saved_s > 0 ? -ratio(saved_s, step_time_s) : 0});
  }
  std::stable_sort(out.begin(), out.end(), [](const SensitivityLine& a, const SensitivityLine& b) {
    return a.change_for_ten_percent < b.change_for_ten_percent;
  });
  return out;
}

/// But for how often they run.
bool reads_the_same(const CollectiveLine& a, const CollectiveLine& b) {
  const auto all = [](const CollectiveLine& l) {
    return std::tie(l.kind, l.axes, l.algorithm, l.protocol, l.bytes, l.ranks, l.nodes, l.time_s);
  };
  return all(a) == all(b);
}

std::vector<CollectiveLine> collective_lines(const ReportInputs& in) {
  std::vector<CollectiveLine> out;
  std::vector<std::vector<Collective>> counted;  // of each line
  for (const ChosenCollective& c : in.collectives) {
    if (c.group.ranks <= 1) continue;
    CollectiveLine line;
    line.kind = name_of(c.op.kind);
    line.axes = name_of(c.op.axes);
    line.algorithm = name_of(c.cost.algorithm);
    line.protocol = name_of(c.cost.protocol);
    line.bytes = c.op.bytes().value;
    line.ranks = c.group.ranks;
    line.nodes = c.group.nodes;
    line.calls = calls_of(in.plan, in.counts, c.op);
    line.time_s = c.cost.cost.total().value;
    const auto same = std::find_if(out.begin(), out.end(), [&](const CollectiveLine& other) {
      return reads_the_same(line, other);
    });
    if (same == out.end()) {
      out.push_back(std::move(line));
      counted.push_back({c.op});
      continue;
    }
    std::vector<Collective>& ops = counted[static_cast<std::size_t>(same - out.begin())];
    const auto is_this = [&c](const Collective& op) { return same_collective(op, c.op); };
    if (std::none_of(ops.begin(), ops.end(), is_this)) {
      same->calls += line.calls;
      ops.push_back(c.op);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const CollectiveLine& a, const CollectiveLine& b) {
    return static_cast<double>(a.calls) * a.time_s > static_cast<double>(b.calls) * b.time_s;
  });
  return out;
}

/// What a step does not take where others follow it was waiting at one of its ends.
std::vector<Share> without_waits(std::vector<Share> breakdown, Seconds time) {
  for (const char* group : {"idle", "bubble"}) {
    for (Share& s : breakdown) {
      if (s.group != group) continue;
      const Seconds part(std::min(s.time.value, time.value));
      s.time = s.time - part, time = time - part;
    }
  }
  std::erase_if(breakdown, [](const Share& s) { return s.time.value == 0; });
  return breakdown;
}

/// Of the mean rank.
Flops mean_flops(const Plan& plan, const Op& op, const Compute& body) {
  const bool by_experts = std::holds_alternative<MatMul>(body) && op.operands.size() > 1 &&
                          plan.tensors[op.operands[1].tensor].rank == 3;
  return whole_square_flops(body) / (by_experts ? plan.expert_imbalance : 1);
}

Flops hardware_flops(const Plan& plan, const StepCounts& counts) {
  std::vector<double> of_block;
  for (const Block& block : plan.blocks) {
    double sum = 0;
    for (const Op& op : block.ops) {
      const auto* c = std::get_if<Compute>(&op.body);
      if (c != nullptr && op.phase == Phase::kRecompute) sum += mean_flops(plan, op, *c).value;
    }
    of_block.push_back(sum);
  }
  double again = 0;
  for (std::size_t stage = 0; stage < counts.runs.size(); ++stage) {
    const std::vector<std::int64_t>& runs = counts.runs[stage];
    const std::int64_t ranks = ranks_of_stage(plan, static_cast<std::int64_t>(stage));
    const auto workers = static_cast<double>(plan.servers.workers(ranks));
    for (std::size_t b = 0; b < runs.size(); ++b) {
      again += workers * static_cast<double>(runs[b]) * of_block[b];
    }
  }
  return counts.model_flops + counts.unneeded_flops + Flops(again);
}

/// The type that the matrix products of layers compute in, narrow where some layer is not plain.
DType type_of_products(const Model& model, const Precision& p) {
  const bool all_plain = p.plain_first + p.plain_last >= model.layers;
  return all_plain ? p.weights : p.products();
}

/// FLOPs that count half of each causal square over those that count all of it; 0 where the model
/// has none, trains a part, or has sequences of several documents.
double half_squares(const ReportInputs& in) {
  const Workload& w = in.workload;
  const bool whole = w.documents.packing == Packing::kNone && !w.lora.any();
  if (!in.model.causal || !whole || w.capacity_factor > 0) return 0;
  const Flops needed = needed_flops_per_iteration(in.model, w.sequence_length, w.global_batch);
  return ratio(needed.value, in.counts.model_flops.value);
}

/// Throughput and utilisation. MFU counts the FLOPs that the model needs, HFU those that run;
/// both against the dense peak of the type that the matrix products compute in (Chowdhery et al.
/// 2022, PaLM, appendix B; Korthikanti et al. 2022, section 5).
void fill_rates(const ReportInputs& in, Report& r) {
  const auto gpus = static_cast<double>(r.world_size);
  const DType dtype = type_of_products(in.model, in.workload.precision);
  r.peak_flops_dtype = name_of(dtype);
  for (std::size_t k = 0; k < in.cluster.kinds(); ++k) {
    const FlopsPerSecond peak = in.cluster.kind(k).device.peak(dtype);
    r.peak_flops_per_gpu_tflops += in.cluster.share(k) * (peak.value * 1e-12);
  }
  r.tokens_per_s = ratio(static_cast<double>(in.counts.tokens), r.step_time_s);
  r.tokens_per_s_per_gpu = r.tokens_per_s / gpus;
  r.model_tflops_per_gpu = ratio(in.counts.model_flops.value * 1e-12, r.step_time_s) / gpus;
  r.hardware_tflops_per_gpu =
      ratio(hardware_flops(in.plan, in.counts).value * 1e-12, r.step_time_s) / gpus;
  r.price_per_step = in.price_per_device_hour * gpus * r.step_time_s / 3600;
  r.price_per_billion_tokens = ratio(r.price_per_step * 1e9, static_cast<double>(in.counts.tokens));
  r.mfu = ratio(r.model_tflops_per_gpu, r.peak_flops_per_gpu_tflops);
  r.mfu_of_half_squares = r.mfu * half_squares(in);
  r.hfu = ratio(r.hardware_tflops_per_gpu, r.peak_flops_per_gpu_tflops);
}

}  // namespace

Report summarize(const ReportInputs& in) {
  Report r;
  r.run = in.run;
  r.model = in.model.name;
  r.cluster = cluster_text(in.cluster);
  r.layout = layout_text(in.strategy);
  r.fabric = fabric_text(in.cluster);
  r.placement = in.placement;
  r.mesh = in.plan.mesh;
  r.stage_tp = in.plan.stage_tp;
  if (in.plan.servers.any()) {
    r.workers = in.plan.servers.workers(r.mesh[Axis::kDp]);
    r.servers = in.plan.servers.count;
  }
  r.world_size = rank_count(in.plan);
  r.step_time_s = to_seconds(in.times.step).value;
  fill_rates(in, r);
  const Seconds hidden = to_seconds(in.times.hidden);
  r.breakdown = shares(without_waits(in.explanation.breakdown, hidden), r.step_time_s);
  r.critical_path = shares(in.explanation.critical_path, r.step_time_s);
  r.bound_by = in.explanation.bound_by;
  r.sensitivity = sensitivities(in, r.step_time_s);
  r.memory = summarize_memory(in.plan, in.cluster, in.memory, in.node);
  r.collectives = collective_lines(in);
  r.contention = in.contention;
  r.provenance = in.provenance;
  r.calibration = in.calibration;
  return r;
}

Flops hardware_flops(const Plan& plan) { return hardware_flops(plan, counts_of(plan)); }

double group_time(const std::vector<ReportShare>& shares, const std::string& group) {
  double sum = 0;
  for (const ReportShare& s : shares) sum += s.group == group ? s.time_s : 0;
  return sum;
}

std::string group_words(const Report& report, const std::string& group) {
  const bool stages = report.mesh[Axis::kPp] > 1;
  return group == "bubble" && !stages ? std::string(kWaiting) : human_words(group);
}

bool same_prediction(const Report& a, const Report& b) {
  Report x = a, y = b;
  for (Report* r : {&x, &y}) {
    r->run = {};
    r->provenance = {};
    r->calibration = "";
    r->model = r->cluster = r->layout = r->fabric = r->placement = "";
  }
  return to_json(x) == to_json(y);
}

}  // namespace plait
