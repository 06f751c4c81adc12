#include "reports/profile/profile_rows.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <unordered_map>

#include "reports/profile/kernel_names.h"

namespace plait {
namespace {

constexpr const char* kInAStep = "in the middle of a training step";

/// When the trace begins, where it says so.
std::string date_of(const KinetoTrace& trace) {
  const std::int64_t ns = trace.base_ns + trace.events.front().start_ns;
  constexpr std::int64_t kYear2000 = 946'684'800'000'000'000;
  if (ns < kYear2000) return "";
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(static_cast<std::time_t>(ns / 1'000'000'000)));
}

RunRow origin(const KinetoTrace& trace, const ProfileComparison& c) {
  RunRow out;
  out.bench = "profile", out.version = c.run.version, out.command = c.run.command;
  out.date = date_of(trace);
  out.host = c.gpu.empty() ? "profile" : c.gpu;
  out.processor = c.gpu, out.cores = 1;
  out.kernel = "torch.profiler", out.compiler = trace.file, out.blas = "cuBLAS";
  out.quiet = kInAStep, out.memory = "cold";
  return out;
}

Spread spread_of(std::vector<double>& seconds) {
  std::ranges::sort(seconds);
  const auto at = [&](double share) {
    return seconds[static_cast<std::size_t>(share * static_cast<double>(seconds.size() - 1))];
  };
  return {at(0.5), at(0.1), at(0.9)};
}

/// Seconds of each call of each shape: of its kernels, whatever their number.
std::map<std::uint32_t, std::vector<double>> times_of_shapes(const KinetoTrace& trace,
                                                             const TraceSteps& steps) {
  std::unordered_map<std::int64_t, std::uint32_t> shape_of;
  for (const TraceProduct& p : trace.products) shape_of[p.external] = p.shape;
  std::map<std::int64_t, std::int64_t> ns;  // of calls, by their number
  std::vector<KernelKind> kinds;
  for (const std::string& name : trace.names) kinds.push_back(kernel_name(name).kind);
  for (const DeviceStep& step : steps.whole) {
    for (const std::uint32_t i : step.events) {
      const TraceEvent& e = trace.events[i];
      const bool product = e.work == TraceWork::kKernel && kinds[e.name] == KernelKind::kMatMul;
      if (product && shape_of.contains(e.external)) ns[e.external] += e.end_ns - e.start_ns;
    }
  }
  std::map<std::uint32_t, std::vector<double>> out;
  for (const auto& [external, time] : ns) {
    out[shape_of[external]].push_back(static_cast<double>(time) * 1e-9);
  }
  return out;
}

void add_products(const KinetoTrace& trace, const TraceSteps& steps, std::vector<Row>& rows) {
  for (auto& [shape, seconds] : times_of_shapes(trace, steps)) {
    KernelRow row;
    row.op = trace.shapes[shape];
    row.repeats = std::ssize(seconds);
    row.wall = row.cpu = spread_of(seconds);
    row.traffic = memory_traffic(row.op).value;
    rows.emplace_back(row);
  }
}

void add_collectives(const ProfileComparison& c, double steps, std::vector<Row>& rows) {
  for (const MessageUse& m : c.measured.step.messages) {
    const bool sums = m.kind == KernelKind::kAllReduce || m.kind == KernelKind::kReduceScatter;
    const bool known = m.bytes > 0 && m.ranks > 1 && m.kind != KernelKind::kSendRecv;
    if (!known || m.least_s <= 0) continue;
    CollectiveRow row;
    row.transport = "nccl", row.collective = std::string(name_of(m.kind));
    row.ranks = m.ranks, row.size = m.bytes;
    row.type = "uint8", row.count = m.bytes, row.redop = sums ? "sum" : "none";
    row.repeats = std::llround(m.calls * steps);
    row.out_of_place = {m.least_s * 1e6, static_cast<double>(m.bytes) / m.least_s * 1e-9,
                        m.busbw(m.least_s) * 1e-9};
    row.in_place = row.out_of_place;
    rows.emplace_back(std::move(row));
  }
}

}  // namespace

std::vector<Row> profile_rows(const KinetoTrace& trace, const TraceSteps& steps,
                              const ProfileComparison& comparison) {
  std::vector<Row> rows = {origin(trace, comparison)};
  add_products(trace, steps, rows);
  add_collectives(comparison, static_cast<double>(std::ssize(steps.whole) * steps.as_many), rows);
  rows.emplace_back(EndRow{.quiet = kInAStep});
  return rows;
}

std::string lines_of(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows) out += to_json(row) + "\n";
  return out;
}

}  // namespace plait
