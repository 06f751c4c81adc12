#include "reports/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/json.h"

namespace plait {
namespace {

constexpr std::array<std::string_view, 6> kClasses = {"weight",     "gradient", "optimizer",
                                                      "activation", "kv_cache", "buffer"};

std::int64_t bytes_of(const MemoryReport& m, std::string_view item) {
  for (const MemoryLine& line : m.items) {
    if (line.name == item && line.source.empty()) return line.bytes;
  }
  return 0;
}

std::int64_t overhead_bytes(const MemoryReport& m) {
  std::int64_t sum = 0;
  for (const MemoryLine& line : m.items) sum += line.source.empty() ? 0 : line.bytes;
  return sum;
}

std::string text(double v) { return fmt::format("{}", v); }
std::string text(std::int64_t v) { return fmt::format("{}", v); }

}  // namespace

std::string csv_field(std::string_view value) {
  if (value.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(value);
  std::string out = "\"";
  for (const char c : value) {
    out += c;
    if (c == '"') out += c;
  }
  return out + "\"";
}

std::string csv_row(const std::vector<std::string>& fields) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ',';
    out += csv_field(fields[i]);
  }
  return out + "\r\n";
}

std::vector<std::string> csv_columns() {
  std::vector<std::string> out = {"scenario", "model", "cluster", "layout", "world_size"};
  for (const std::string_view axis : kAxisNames) {
    if (axis != name_of(Axis::kEtp)) out.emplace_back(axis);
  }
  for (const char* name :
       {"fits", "step_time_s", "tokens_per_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu",
        "hardware_tflops_per_gpu", "mfu", "hfu", "peak_flops_per_gpu_tflops", "peak_flops_dtype",
        "peak_memory_bytes", "capacity_bytes", "host_bytes_per_node", "host_capacity_bytes",
        "bound_by"}) {
    out.emplace_back(name);
  }
  for (const std::string_view group : kShareGroups) out.push_back(std::string(group) + "_s");
  for (const std::string_view kind : kClasses) out.push_back(std::string(kind) + "_bytes");
  out.emplace_back("overhead_bytes");
  out.emplace_back("band");
  for (const char* name : {"training_s", "goodput", "price_per_step", "price_per_billion_tokens",
                           "training_price", "training_energy_kwh"}) {
    out.emplace_back(name);
  }
  return out;
}

std::vector<std::string> csv_values(const Report& r) {
  std::vector<std::string> out = {r.run.scenario, r.model, r.cluster, r.layout, text(r.world_size)};
  // The column tp is strategy.tp; how many of these ranks split an expert the layout says.
  for (int a = 0; a < kAxes; ++a) {
    const auto axis = static_cast<Axis>(a);
    if (axis == Axis::kEtp) continue;
    out.push_back(text(r.mesh.size_of(axis == Axis::kTp ? kTensorAxes : AxisSet(axis))));
  }
  const MemoryReport& m = r.memory;
  out.push_back(json_bool(m.fits));
  for (const double v :
       {r.step_time_s, r.tokens_per_s, r.tokens_per_s_per_gpu, r.model_tflops_per_gpu,
        r.hardware_tflops_per_gpu, r.mfu, r.hfu, r.peak_flops_per_gpu_tflops}) {
    out.push_back(text(v));
  }
  out.push_back(r.peak_flops_dtype);
  out.push_back(text(m.peak_memory_bytes));
  out.push_back(text(m.capacity_bytes));
  for (const std::int64_t host : {m.host_bytes, m.host_bytes > 0 ? m.host_capacity_bytes : 0}) {
    out.push_back(host > 0 ? text(host) : "");
  }
  out.push_back(r.bound_by);
  for (const std::string_view group : kShareGroups) {
    out.push_back(text(group_time(r.breakdown, std::string(group))));
  }
  for (const std::string_view kind : kClasses) out.push_back(text(bytes_of(m, kind)));
  out.push_back(text(overhead_bytes(m)));
  out.push_back(text(r.provenance.band));
  out.push_back(r.training ? text(r.training->total_s) : "");
  out.push_back(r.training ? text(r.training->goodput()) : "");
  const TrainingReport whole = r.training.value_or(TrainingReport{});
  for (const double said :
       {r.price_per_step, r.price_per_billion_tokens, whole.price, whole.energy_kwh}) {
    out.push_back(said > 0 ? text(said) : "");
  }
  return out;
}

std::string to_csv(const Report& report) {
  return csv_row(csv_columns()) + csv_row(csv_values(report));
}

std::string to_csv(const MemoryReport& memory) {
  std::string out = csv_row({"item", "bytes", "source"});
  for (const MemoryLine& line : memory.items) {
    out += csv_row({line.name, text(line.bytes), line.source});
  }
  out += csv_row({"peak", text(memory.peak_memory_bytes), ""});
  out += csv_row({"capacity", text(memory.capacity_bytes), ""});
  if (memory.host_bytes > 0) out += csv_row({"host_per_node", text(memory.host_bytes), ""});
  if (memory.host_bytes > 0 && memory.host_capacity_bytes > 0) {
    out += csv_row({"host_capacity", text(memory.host_capacity_bytes), ""});
  }
  if (memory.storage_bytes > 0)
    out += csv_row({"storage_per_node", text(memory.storage_bytes), ""});
  return out;
}

}  // namespace plait
