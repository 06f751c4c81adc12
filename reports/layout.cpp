// The layout and the machine in one line each.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reports/human.h"
#include "reports/report.h"

namespace plait {
namespace {

std::string schedule_text(const PipelineOptions& p) {
  switch (p.schedule) {
    case Schedule::kGpipe: return "gpipe";
    case Schedule::k1f1b: return "1f1b";
    case Schedule::kInterleaved: return fmt::format("interleaved 1f1b with {} chunks", p.chunks);
  }
  return "";
}

std::string recompute_text(const RecomputeOptions& r) {
  switch (r.kind) {
    case Recompute::kNone: return "no recompute";
    case Recompute::kSelective: return "selective recompute";
    case Recompute::kFull:
      if (r.layers >= 0) return fmt::format("full recompute of {} layers", r.layers);
      return "full recompute";
  }
  return "";
}

}  // namespace

std::string layout_text(const Strategy& s) {
  std::vector<std::string> parts;
  for (const Axis a : {Axis::kTp, Axis::kCp, Axis::kEp, Axis::kPp, Axis::kFsdp, Axis::kDp}) {
    if (s.mesh[a] > 1) parts.push_back(fmt::format("{} {}", name_of(a), s.mesh[a]));
  }
  if (parts.empty()) parts.emplace_back("one device");
  if (s.mesh[Axis::kPp] > 1) parts.push_back(schedule_text(s.pipeline));
  if (s.sequence_parallel) parts.emplace_back("sequence parallel");
  if (s.zero_stage > 0) parts.push_back(fmt::format("zero {}", s.zero_stage));
  parts.push_back(recompute_text(s.recompute));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string cluster_text(const Cluster& c) {
  if (c.nodes == 1) return fmt::format("{} x {}", human_count(c.world_size()), c.device.name);
  return fmt::format("{} x {}, {} nodes of {}", human_count(c.world_size()), c.device.name,
                     human_count(c.nodes), c.devices_per_node);
}

}  // namespace plait
