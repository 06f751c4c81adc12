// The layout and the machine in one line each.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reports/human.h"
#include "reports/report.h"
#include "topologies/graph.h"

namespace plait {
namespace {

std::string schedule_text(const PipelineOptions& p) {
  if (p.schedule != Schedule::kInterleaved) return std::string(name_of(p.schedule));
  return fmt::format("interleaved 1f1b with {} chunks", p.chunks);
}

template <typename Part>
std::string names_joined(const std::vector<Part>& parts) {
  std::string names;
  for (const Part p : parts) names.append(names.empty() ? "" : ", ").append(name_of(p));
  return names;
}

std::string recompute_text(const RecomputeOptions& r) {
  switch (r.kind) {
    case Recompute::kNone: return "no recompute";
    case Recompute::kSelective: return "selective recompute";
    case Recompute::kModules: return "recompute of " + names_joined(r.modules);
    case Recompute::kOps:
      return r.keep.empty() ? "recompute by op" : "recompute of all but " + names_joined(r.keep);
    case Recompute::kFull:
      if (r.layers >= 0) return fmt::format("full recompute of {} layers", r.layers);
      if (r.every > 1) return fmt::format("full recompute of 1 layer in {}", r.every);
      return "full recompute";
  }
  return "";
}

/// "2 parameter servers", "2 dedicated parameter servers, staleness 1"
void add_servers(const ParameterServerOptions& o, std::vector<std::string>& parts) {
  if (!o.any()) return;
  parts.push_back(fmt::format("{} {}parameter server{}", o.servers, o.dedicated ? "dedicated " : "",
                              o.servers > 1 ? "s" : ""));
  if (o.staleness > 0) parts.push_back(fmt::format("staleness {}", o.staleness));
}

/// "cpu offload of optimizer and parameters"
void add_offload(const OffloadOptions& o, std::vector<std::string>& parts) {
  for (const Offload place : {Offload::kCpu, Offload::kNvme}) {
    std::vector<std::string> what;
    if (o.optimizer == place) what.emplace_back("optimizer");
    if (o.parameters == place) what.emplace_back("parameters");
    if (o.activations == place) what.emplace_back("activations");
    if (what.empty()) continue;
    parts.push_back(fmt::format("{} offload of {}", name_of(place), fmt::join(what, " and ")));
  }
}

}  // namespace

std::string layout_text(const Strategy& s) {
  std::vector<std::string> parts;
  const std::int64_t serving = s.parameter_server.dedicated ? s.parameter_server.servers : 0;
  for (const Axis a :
       {Axis::kTp, Axis::kUlysses, Axis::kCp, Axis::kEp, Axis::kPp, Axis::kFsdp, Axis::kDp}) {
    const std::int64_t ranks = a == Axis::kDp ? s.mesh[a] - serving : s.mesh[a];
    if (a == Axis::kTp && !s.pipeline.stage_tp.empty()) {
      parts.push_back(fmt::format("tp {} by stage", fmt::join(s.pipeline.stage_tp, " + ")));
    } else if (a == Axis::kTp && s.mesh[Axis::kEtp] > 1) {
      parts.push_back(
          fmt::format("tp {} (experts {})", s.mesh.size_of(kTensorAxes), s.mesh[Axis::kEtp]));
    } else if (ranks > 1) {
      parts.push_back(fmt::format("{} {}", name_of(a), ranks));
    }
  }
  if (s.mesh[Axis::kCp] > 1 && s.context.rings()) parts.emplace_back("ring attention");
  if (parts.empty()) parts.emplace_back("one device");
  if (s.mesh[Axis::kPp] > 1) parts.push_back(schedule_text(s.pipeline));
  if (s.pipeline.exchange_overlap == ExchangeOverlap::kPasses) {
    parts.emplace_back("exchanges behind passes");
  }
  if (s.sequence_parallel) parts.emplace_back("sequence parallel");
  if (s.zero_stage > 0) parts.push_back(fmt::format("zero {}", s.zero_stage));
  if (s.zero_stage == 3 && s.fsdp.prefetch != FsdpOptions{}.prefetch) {
    parts.push_back(fmt::format("prefetch {}", s.fsdp.prefetch));
  }
  parts.push_back(recompute_text(s.recompute));
  add_offload(s.offload, parts);
  add_servers(s.parameter_server, parts);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string fabric_text(const Cluster& c) {
  const Graph& g = *c.graph;
  if (!g.cabling) return "";
  return g.fabric.name.empty() ? g.cabling->in_words()
                               : g.fabric.name + ", " + g.cabling->in_words();
}

std::string cluster_text(const Cluster& c) {
  std::vector<std::string> parts;
  std::int64_t rest = c.world_size();
  for (const OtherKind& o : c.others) {
    const std::int64_t count = (o.last - o.first + 1) * c.devices_per_node;
    parts.push_back(fmt::format("{} x {}", human_count(count), o.device.name));
    rest -= count;
  }
  const std::string most = fmt::format("{} x {}", human_count(rest), c.device.name);
  if (rest > 0) parts.insert(parts.begin(), most);
  std::string devices = fmt::format("{}", fmt::join(parts, " + "));
  if (c.nodes == 1) return devices;
  return fmt::format("{}, {} nodes of {}", devices, human_count(c.nodes), c.devices_per_node);
}

}  // namespace plait
