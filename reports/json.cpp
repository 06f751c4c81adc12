#include "reports/json.h"

#include <nlohmann/json.hpp>

#include "reports/json_tree.h"
#include "reports/training.h"

namespace plait {
namespace {

using Tree = nlohmann::ordered_json;

/// {"compute": {"total_s": 2.1, "matmul_s": 1.5, ...}, ...}, groups in order of appearance.
Tree tree_of(const std::vector<ReportShare>& shares) {
  Tree out = Tree::object();
  for (const ReportShare& s : shares) {
    Tree& group = out[s.group];
    if (group.is_null()) group["total_s"] = group_time(shares, s.group);
    if (!s.name.empty()) group[s.name + "_s"] = group.value(s.name + "_s", 0.0) + s.time_s;
  }
  return out;
}

Tree tree_of(const std::vector<SensitivityLine>& lines) {
  Tree out = Tree::object();
  for (const SensitivityLine& l : lines) {
    out[l.resource] = {{"time_s", l.time_s},
                       {"step_time_change_for_10_percent", l.change_for_ten_percent}};
  }
  return out;
}

Tree tree_of(const std::vector<CollectiveLine>& lines) {
  Tree out = Tree::array();
  for (const CollectiveLine& l : lines) {
    out.push_back({{"kind", l.kind},
                   {"axes", l.axes},
                   {"bytes", l.bytes},
                   {"ranks", l.ranks},
                   {"nodes", l.nodes},
                   {"algorithm", l.algorithm},
                   {"protocol", l.protocol},
                   {"calls_per_step", l.calls},
                   {"time_s", l.time_s}});
  }
  return out;
}

Tree tree_of(const ProvenanceShares& p) {
  Tree out = Tree::object();
  for (std::size_t i = 0; i < p.share.size(); ++i) {
    out[std::string(name_of(static_cast<Provenance>(i)))] = p.share[i];
  }
  out["band"] = p.band;
  return out;
}

Tree tree_of(const MemoryReport& m) {
  Tree out = {{"fits", m.fits},
              {"peak_memory_bytes", m.peak_memory_bytes},
              {"capacity_bytes", m.capacity_bytes},
              {"free_bytes", m.free_bytes()},
              {"rank", m.rank},
              {"stage", m.stage}};
  if (!m.device.empty()) out["device"] = m.device;
  Tree& items = out["items"] = Tree::object();
  Tree sources = Tree::object();
  for (const MemoryLine& i : m.items) {
    items[i.name + "_bytes"] = i.bytes;
    if (!i.source.empty()) sources[i.name] = i.source;
  }
  Tree& largest = out["largest"] = Tree::array();
  for (const PeakTensor& t : m.largest) {
    largest.push_back({{"name", t.name}, {"kind", t.kind}, {"count", t.count}, {"bytes", t.bytes}});
  }
  out["stage_peak_bytes"] = m.stage_bytes;
  for (const auto& [role, bytes] : m.roles) out["live_bytes_by_role"][role] = bytes;
  if (m.host_bytes > 0) out["host_bytes_per_node"] = m.host_bytes;
  if (m.host_bytes > 0 && m.host_capacity_bytes > 0) {
    out["host_capacity_bytes"] = m.host_capacity_bytes;
  }
  if (m.storage_bytes > 0) out["storage_bytes_per_node"] = m.storage_bytes;
  out["sources"] = std::move(sources);
  return out;
}

Tree tree_of(const RunFacts& run) {
  return {{"schema", "plait-run-1"},  {"version", run.version},
          {"revision", run.revision}, {"scenario_sha256", run.scenario_sha256},
          {"command", run.command},   {"warnings", printed(run.warnings)}};
}

Tree tree_of(const Mesh& mesh) {
  Tree out = Tree::object();
  for (int a = 0; a < kAxes; ++a) {
    const auto axis = static_cast<Axis>(a);
    if (axis == Axis::kEtp && mesh[axis] == 1) continue;
    out[std::string(name_of(axis))] = mesh[axis];
  }
  return out;
}

Tree tree_of(const std::vector<ContentionLine>& lines) {
  Tree out = Tree::array();
  for (const ContentionLine& l : lines) {
    out.push_back({{"link", l.link},
                   {"link_class", l.link_class},
                   {"links", l.links},
                   {"bandwidth_bytes_per_s", l.bandwidth_bytes_per_s},
                   {"traffic", l.traffic},
                   {"with", l.with},
                   {"time_s", l.time_s},
                   {"lost_s", l.lost_s}});
  }
  return out;
}

}  // namespace

nlohmann::ordered_json json_tree(const Report& r) {
  Tree out = {{"scenario", r.run.scenario},
              {"model", r.model},
              {"cluster", r.cluster},
              {"layout", r.layout},
              {"fabric", r.fabric.empty() ? "none" : r.fabric},
              {"placement", r.placement.empty() ? "in order" : r.placement},
              {"world_size", r.world_size},
              {"mesh", tree_of(r.mesh)},
              {"fits", r.memory.fits},
              {"step_time_s", r.step_time_s},
              {"tokens_per_s", r.tokens_per_s},
              {"tokens_per_s_per_gpu", r.tokens_per_s_per_gpu},
              {"model_tflops_per_gpu", r.model_tflops_per_gpu},
              {"hardware_tflops_per_gpu", r.hardware_tflops_per_gpu},
              {"mfu", r.mfu},
              {"mfu_of_half_squares", r.mfu_of_half_squares},
              {"hfu", r.hfu},
              {"peak_flops_per_gpu_tflops", r.peak_flops_per_gpu_tflops},
              {"peak_flops_dtype", r.peak_flops_dtype},
              {"peak_memory_bytes", r.memory.peak_memory_bytes}};
  if (!r.stage_tp.empty()) out["stage_tp"] = r.stage_tp;
  if (r.servers > 0) out["workers"] = r.workers, out["servers"] = r.servers;
  if (r.price_per_step > 0) {
    out["price_per_step"] = r.price_per_step;
    out["price_per_billion_tokens"] = r.price_per_billion_tokens;
  }
  if (r.training) out["training"] = json_tree(*r.training);
  out["bound_by"] = r.bound_by;
  out["breakdown"] = tree_of(r.breakdown);
  out["memory"] = tree_of(r.memory);
  out["critical_path"] = tree_of(r.critical_path);
  out["sensitivity"] = tree_of(r.sensitivity);
  out["collectives"] = tree_of(r.collectives);
  if (!r.contention.empty()) out["contention"] = tree_of(r.contention);
  if (!r.calibration.empty()) out["calibration"] = r.calibration;
  out["provenance"] = tree_of(r.provenance);
  out["run"] = tree_of(r.run);
  return out;
}

std::string json_text(const nlohmann::ordered_json& tree) {
  // A file name on the command line may be no UTF-8; a report still is.
  return tree.dump(2, ' ', false, Tree::error_handler_t::replace) + "\n";
}

std::string to_json(const Report& report) { return json_text(json_tree(report)); }
std::string to_json(const MemoryReport& memory) { return json_text(tree_of(memory)); }

}  // namespace plait
