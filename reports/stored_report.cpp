#include "reports/stored_report.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace plait {
namespace {

using Tree = nlohmann::ordered_json;

/// A key of another type than a report's: some other document.
struct NoReport {};

/// Doubles, which JSON's numbers are to many programs, have all whole numbers up to here.
constexpr std::int64_t kLargestWhole = std::int64_t{1} << 53;

// Objects and what is written as one: lists of them are read by the template.
void read(const Tree& tree, Mesh& to);
void read(const Tree& tree, MemoryReport& to);
void read(const Tree& tree, PeakTensor& to);
void read(const Tree& tree, CollectiveLine& to);
void read(const Tree& tree, ContentionLine& to);
void read(const Tree& tree, ProvenanceShares& to);
void read(const Tree& tree, TrainingReport& to);
void read(const Tree& tree, RunFacts& to);
void read(const Tree& tree, std::vector<ReportShare>& to);
void read(const Tree& tree, std::vector<SensitivityLine>& to);

void read(const Tree& value, std::string& to) { to = value.get<std::string>(); }
void read(const Tree& value, Warning& to) { to = read_warning(value.get<std::string>()); }
void read(const Tree& value, bool& to) { to = value.get<bool>(); }

/// null: a number that JSON has no form for.
void read(const Tree& value, double& to) {
  if (!value.is_null()) to = value.get<double>();
}

void read(const Tree& value, std::int64_t& to) {
  if (!value.is_number_integer()) throw NoReport{};
  to = value.get<std::int64_t>();
  if (to < -kLargestWhole || to > kLargestWhole) throw NoReport{};
}

template <class T>
void read(const Tree& list, std::vector<T>& to) {
  for (const Tree& value : list) read(value, to.emplace_back());
}

/// The value of a key, where the object has it.
template <class T>
void read(const Tree& object, const char* key, T& to) {
  if (const auto value = object.find(key); value != object.end()) read(*value, to);
}

/// "matmul" of "matmul_s".
std::string without(const std::string& key, std::string_view unit) {
  if (!key.ends_with(unit)) throw NoReport{};
  return key.substr(0, key.size() - unit.size());
}

/// Of a group its parts, and what of the total is of none.
void read_group(const std::string& group, const Tree& parts, std::vector<ReportShare>& to) {
  double total = 0, named = 0;
  for (const auto& [key, value] : parts.items()) {
    ReportShare share{.group = group, .name = without(key, "_s")};
    read(value, share.time_s);
    if (share.name == "total") {
      total = share.time_s;
      continue;
    }
    named += share.time_s;
    to.push_back(std::move(share));
  }
  if (total != named || parts.size() == 1) to.push_back({group, "", total - named});
}

void read(const Tree& groups, std::vector<ReportShare>& to) {
  for (const auto& [group, parts] : groups.items()) read_group(group, parts, to);
}

void read(const Tree& axes, Mesh& mesh) {
  for (int a = 0; a < kAxes; ++a) {
    const auto axis = static_cast<Axis>(a);
    std::int64_t size = mesh[axis];
    read(axes, std::string(name_of(axis)).c_str(), size);
    if (size < 1 || size > kLargestWhole / 2) throw NoReport{};
    mesh[axis] = size;
  }
}

void read(const Tree& tree, PeakTensor& to) {
  read(tree, "name", to.name), read(tree, "kind", to.kind);
  read(tree, "count", to.count), read(tree, "bytes", to.bytes);
}

void read_items(const Tree& tree, MemoryReport& m) {
  const auto items = tree.find("items"), sources = tree.find("sources");
  if (items == tree.end()) return;
  for (const auto& [key, bytes] : items->items()) {
    MemoryLine& line = m.items.emplace_back();
    line.name = without(key, "_bytes");
    read(bytes, line.bytes);
    if (sources != tree.end()) read(*sources, line.name.c_str(), line.source);
  }
}

void read(const Tree& tree, MemoryReport& m) {
  read(tree, "fits", m.fits);
  read(tree, "peak_memory_bytes", m.peak_memory_bytes);
  read(tree, "capacity_bytes", m.capacity_bytes);
  read(tree, "rank", m.rank), read(tree, "stage", m.stage);
  read(tree, "device", m.device);
  read_items(tree, m);
  read(tree, "largest", m.largest);
  read(tree, "stage_peak_bytes", m.stage_bytes);
  if (const auto roles = tree.find("live_bytes_by_role"); roles != tree.end()) {
    for (const auto& [role, bytes] : roles->items()) {
      read(bytes, m.roles.emplace_back(role, 0).second);
    }
  }
  read(tree, "host_bytes_per_node", m.host_bytes);
  read(tree, "host_capacity_bytes", m.host_capacity_bytes);
  read(tree, "storage_bytes_per_node", m.storage_bytes);
}

void read(const Tree& resources, std::vector<SensitivityLine>& to) {
  for (const auto& [resource, tree] : resources.items()) {
    SensitivityLine& line = to.emplace_back();
    line.resource = resource;
    read(tree, "time_s", line.time_s);
    read(tree, "step_time_change_for_10_percent", line.change_for_ten_percent);
  }
}

void read(const Tree& tree, CollectiveLine& to) {
  read(tree, "kind", to.kind), read(tree, "axes", to.axes);
  read(tree, "bytes", to.bytes), read(tree, "ranks", to.ranks), read(tree, "nodes", to.nodes);
  read(tree, "algorithm", to.algorithm), read(tree, "protocol", to.protocol);
  read(tree, "calls_per_step", to.calls), read(tree, "time_s", to.time_s);
}

void read(const Tree& tree, ContentionLine& to) {
  read(tree, "link", to.link), read(tree, "link_class", to.link_class);
  read(tree, "links", to.links);
  read(tree, "bandwidth_bytes_per_s", to.bandwidth_bytes_per_s);
  read(tree, "traffic", to.traffic), read(tree, "with", to.with);
  read(tree, "time_s", to.time_s), read(tree, "lost_s", to.lost_s);
}

void read(const Tree& tree, ProvenanceShares& to) {
  for (std::size_t i = 0; i < to.share.size(); ++i) {
    read(tree, std::string(name_of(static_cast<Provenance>(i))).c_str(), to.share[i]);
  }
  read(tree, "band", to.band);
}

void read(const Tree& tree, TrainingReport& t) {
  read(tree, "tokens", t.tokens), read(tree, "steps", t.steps);
  read(tree, "total_s", t.total_s), read(tree, "steps_s", t.steps_s);
  read(tree, "lost_s", t.lost_s), read(tree, "restarts_s", t.restarts_s);
  read(tree, "checkpoints_s", t.checkpoints_s);
  read(tree, "failures", t.failures);
  read(tree, "machine_mtbf_s", t.machine_mtbf_s), read(tree, "restart_s", t.restart_s);
  read(tree, "checkpoints", t.checkpoints), read(tree, "checkpoint_bytes", t.checkpoint_bytes);
  read(tree, "checkpoint_interval_s", t.checkpoint_interval_s);
  read(tree, "checkpoint_interval_steps", t.checkpoint_interval_steps);
  read(tree, "checkpoint_stall_s", t.checkpoint_stall_s);
  read(tree, "checkpoint_write_s", t.checkpoint_write_s);
  read(tree, "price", t.price), read(tree, "energy_kwh", t.energy_kwh);
}

void read(const Tree& tree, RunFacts& run) {
  read(tree, "version", run.version), read(tree, "revision", run.revision);
  read(tree, "scenario_sha256", run.scenario_sha256);
  read(tree, "command", run.command), read(tree, "warnings", run.warnings);
}

void read_rates(const Tree& tree, Report& r) {
  read(tree, "step_time_s", r.step_time_s);
  read(tree, "tokens_per_s", r.tokens_per_s);
  read(tree, "tokens_per_s_per_gpu", r.tokens_per_s_per_gpu);
  read(tree, "model_tflops_per_gpu", r.model_tflops_per_gpu);
  read(tree, "hardware_tflops_per_gpu", r.hardware_tflops_per_gpu);
  read(tree, "mfu", r.mfu), read(tree, "mfu_of_half_squares", r.mfu_of_half_squares);
  read(tree, "hfu", r.hfu);
  read(tree, "peak_flops_per_gpu_tflops", r.peak_flops_per_gpu_tflops);
  read(tree, "peak_flops_dtype", r.peak_flops_dtype);
  read(tree, "price_per_step", r.price_per_step);
  read(tree, "price_per_billion_tokens", r.price_per_billion_tokens);
}

void read_names(const Tree& tree, Report& r) {
  read(tree, "scenario", r.run.scenario), read(tree, "model", r.model);
  read(tree, "cluster", r.cluster), read(tree, "layout", r.layout);
  read(tree, "fabric", r.fabric);
  if (r.fabric == "none") r.fabric = "";
  read(tree, "placement", r.placement);
  if (r.placement == "in order") r.placement = "";
  read(tree, "world_size", r.world_size), read(tree, "mesh", r.mesh);
  read(tree, "stage_tp", r.stage_tp);
  read(tree, "workers", r.workers), read(tree, "servers", r.servers);
}

Report read_report(const Tree& tree) {
  Report r;
  read_names(tree, r);
  read_rates(tree, r);
  read(tree, "fits", r.memory.fits);
  read(tree, "peak_memory_bytes", r.memory.peak_memory_bytes);
  read(tree, "memory", r.memory);
  if (tree.contains("training")) read(tree, "training", r.training.emplace());
  read(tree, "bound_by", r.bound_by);
  read(tree, "breakdown", r.breakdown), read(tree, "critical_path", r.critical_path);
  for (std::vector<ReportShare>* shares : {&r.breakdown, &r.critical_path}) {
    for (ReportShare& s : *shares) s.fraction = r.step_time_s > 0 ? s.time_s / r.step_time_s : 0;
  }
  read(tree, "sensitivity", r.sensitivity);
  read(tree, "collectives", r.collectives), read(tree, "contention", r.contention);
  read(tree, "calibration", r.calibration);
  read(tree, "provenance", r.provenance), read(tree, "run", r.run);
  return r;
}

}  // namespace

std::optional<Report> report_from_json(const std::string& text) {
  // Reports start with these keys; looking for them first spares parsing a scenario twice, and a
  // hostile file never reaches the parser.
  if (text.find("\"step_time_s\"") == std::string::npos) return std::nullopt;
  const Tree tree = Tree::parse(text, nullptr, false);
  if (!tree.is_object()) return std::nullopt;
  for (const char* key : {"step_time_s", "breakdown", "world_size"}) {
    if (!tree.contains(key)) return std::nullopt;
  }
  try {
    return read_report(tree);
  } catch (const NoReport&) {
    return std::nullopt;
  } catch (const Tree::exception&) {
    return std::nullopt;
  }
}

}  // namespace plait
