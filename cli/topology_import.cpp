// plait topology import FILE: what other programs say of a machine, as a scenario's cluster; and
// what nccl-tests measured, beside the data sheet.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/topology.h"
#include "core/json.h"
#include "core/units.h"
#include "costmodel/fit/latency_bandwidth.h"
#include "costmodel/measured_links.h"
#include "reports/human.h"
#include "reports/json_tree.h"
#include "reports/topology.h"
#include "scenarios/machine.h"
#include "topologies/importers/choose_device.h"
#include "topologies/importers/detect.h"
#include "topologies/importers/nccl_tests.h"
#include "topologies/importers/nccl_xml.h"
#include "topologies/importers/nvidia_smi.h"

namespace plait {
namespace {

struct CommandOptions {
  std::string file, from;
  ImportOptions import;
  OutputOptions output;
};

ImportFormat format_of(const CommandOptions& options, const std::string& text,
                       const std::string& file) {
  for (const auto format :
       {ImportFormat::kNvidiaSmi, ImportFormat::kNcclXml, ImportFormat::kNcclTests}) {
    if (options.from == name_of(format)) return format;
  }
  return detect_format(text, file);
}

/// The cluster on standard output; or in a file, and then its summary on standard output.
int print_node(const CommandOptions& options, NodeFacts facts, const std::string& file) {
  facts.name = "imported from " + file;
  const ImportedNode imported = node_from(facts, options.import);
  std::vector<std::string> warnings;
  for (const std::string& note : imported.notes) warnings.push_back("W005: " + note);
  print_warnings(warnings);
  const std::string json = json_pretty(cluster_json(imported)) + "\n";
  print_result(options.output, json);
  if (options.output.file.empty() || options.output.file == "-") return kYes;
  const TopologySummary summary = summarize(parse_machine(json, options.output.file).cluster);
  print_result({}, render(topology_lines(summary), OutputOptions{}.style()));
  return kYes;
}

/// The link of the data sheet that a run is held against.
struct DataSheet {
  std::string cluster, link;
  BytesPerSecond bandwidth;  // that bus bandwidth has at most; 0: unknown
  /// What of the cluster would say that the links do what was measured; "" where nothing does.
  std::string key, value;
};

/// A link of the cluster that a scenario can set, and how many of it bound the bus bandwidth.
struct SettableLink {
  enum class Kind : std::uint8_t { kNic, kNvlink, kPcie };
  Kind kind;
  std::string name, key;
  BytesPerSecond bandwidth;
  double times = 1;
};

/// Ranks on the host with most of them.
std::int64_t ranks_per_host(const CollectiveTimings& run) {
  const std::int64_t hosts = std::max<std::int64_t>(1, run.hosts);
  return std::max<std::int64_t>(1, (run.ranks + hosts - 1) / hosts);
}

/// Bus bandwidth in NICs, with n ranks, r of them on each host (nccl-tests doc/PERFORMANCE.md).
/// Rings and trees: min(r, NICs), as every byte of it leaves a node once, by all its NICs.
/// all_to_all: (n - 1) / (n - r), as a rank sends (n - r) / n of its buffer by its own NIC, of
/// which (n - 1) / n are counted; where ranks share a NIC, as much of it as a rank has. send_recv:
/// 1, as one rank of a node sends to another node.
SettableLink nics_of(const CollectiveTimings& run, const NodeSpec& node) {
  const std::int64_t ranks = ranks_per_host(run);
  const auto n = static_cast<double>(run.ranks), r = static_cast<double>(ranks);
  const std::int64_t used = std::min(ranks, node.nics);
  SettableLink out{SettableLink::Kind::kNic, "one NIC", "cluster.fabric.bandwidth",
                   find_fabric(node.fabric).bandwidth};
  if (run.collective == "all_to_all" && n > r) {
    out.name = fmt::format("a rank's share of {} NICs per node, which {} of its data cross", used,
                           human_percent((n - r) / (n - 1), 0));
    out.times = static_cast<double>(used) / r * (n - 1) / (n - r);
  } else if (run.collective != "send_recv" && used > 1) {
    out.name = fmt::format("{} NICs per node", used);
    out.times = static_cast<double>(used);
  }
  return out;
}

SettableLink link_of(const CollectiveTimings& run, const NodeSpec& node, const Device& device) {
  using enum SettableLink::Kind;
  if (run.hosts > 1 && node.nics > 0) return nics_of(run, node);
  if (device.nvlink_links > 0) {
    return {kNvlink, "nvlink", "cluster.device.nvlink_link_bandwidth", device.nvlink_link_bandwidth,
            static_cast<double>(device.nvlink_links)};
  }
  return {kPcie, "pcie", "cluster.device.pcie_bandwidth", device.pcie_bandwidth};
}

/// The machine of the run with the link at `factor` times its rate.
ClusterSpec machine_of(const CollectiveTimings& run, const NodeSpec& node, const Device& device,
                       const SettableLink& link, double factor) {
  ClusterSpec out{.preset = node.name, .nodes = std::max<std::int64_t>(1, run.hosts)};
  out.device = device;
  if (!node.fabric.empty()) out.own_fabric = find_fabric(node.fabric);
  switch (link.kind) {
    case SettableLink::Kind::kNic: out.own_fabric->bandwidth *= factor; break;
    case SettableLink::Kind::kNvlink: out.device->nvlink_link_bandwidth *= factor; break;
    case SettableLink::Kind::kPcie: out.device->pcie_bandwidth *= factor; break;
  }
  return out;
}

DataSheet data_sheet_of(const CollectiveTimings& run, const std::string& named) {
  const std::string name = named.empty() ? catalogue_name(run.device) : named;
  if (name.empty()) return {};
  const Device device = find_device(name);
  const NodeSpec node = find_node(usual_node(device, ranks_per_host(run)));
  const SettableLink link = link_of(run, node, device);
  DataSheet out{node.name, link.name, link.bandwidth * link.times, {}, {}};
  const auto factor =
      measured_link_factor(run, [&](double f) { return machine_of(run, node, device, link, f); });
  if (factor) out.key = link.key, out.value = to_text(link.bandwidth * *factor);
  return out;
}

std::string fit_text(const CollectiveTimings& run, const LatencyBandwidth& fit,
                     const DataSheet& sheet) {
  std::string out = fmt::format(
      "{} over {} ranks, {}, {} sizes, {}\n"
      "base latency  {}\npeak busbw    {}\nfit           median error {}, largest {}\n",
      run.collective.empty() ? "collective (not said which)" : run.collective,
      run.ranks > 0 ? human_count(run.ranks) : "?",
      run.hosts == 1 ? "one host"
                     : fmt::format("{} hosts", run.hosts > 0 ? human_count(run.hosts) : "?"),
      run.rows.size(), run.device.empty() ? "device not said" : run.device,
      human_time(fit.latency.value), to_text(fit.busbw),
      human_percent(std::expm1(fit.median_error)), human_percent(std::expm1(fit.worst_error)));
  if (sheet.bandwidth.value > 0 && fit.busbw.value > 0) {
    out +=
        fmt::format("data sheet    {} of {} ({}): measured is {} of it\n", to_text(sheet.bandwidth),
                    sheet.link, sheet.cluster, human_percent(fit.busbw / sheet.bandwidth, 0));
    if (!sheet.key.empty())
      out += fmt::format("as links      --set {}=\"{}\"\n", sheet.key, sheet.value);
  }
  return out;
}

std::string fit_json(const CollectiveTimings& run, const LatencyBandwidth& fit,
                     const DataSheet& sheet) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const CollectiveTiming& r : run.rows) {
    rows.push_back({{"bytes", r.size.value},
                    {"type", r.type},
                    {"redop", r.redop},
                    {"time_s", r.time.value},
                    {"algbw_Bps", r.algbw.value},
                    {"busbw_Bps", r.busbw.value}});
  }
  return json_text({{"collective", run.collective},
                    {"ranks", run.ranks},
                    {"hosts", run.hosts},
                    {"device", run.device},
                    {"busbw_over_algbw", run.factor},
                    {"latency_s", fit.latency.value},
                    {"peak_busbw_Bps", fit.busbw.value},
                    {"median_error", fit.median_error},
                    {"worst_error", fit.worst_error},
                    {"data_sheet_Bps", sheet.bandwidth.value},
                    {"data_sheet_of", sheet.link},
                    {"wrong_rows", run.wrong},
                    {"rows", rows}});
}

int print_fit(const CommandOptions& options, const CollectiveTimings& run) {
  if (run.wrong > 0) {
    print_warnings(
        {fmt::format("W016: {} of {} rows computed wrong results (#wrong) and are not fitted",
                     run.wrong, std::ssize(run.rows) + run.wrong)});
  }
  const LatencyBandwidth fit = fit_latency_bandwidth(run);
  const DataSheet sheet = data_sheet_of(run, options.import.device);
  const bool json = options.output.kind() == Format::kJson;
  print_result(options.output, json ? fit_json(run, fit, sheet) : fit_text(run, fit, sheet));
  return kYes;
}

int import_file(const CommandOptions& options) {
  const std::string file = input_name(options.file);
  const std::string text = read_text_file(options.file);
  switch (format_of(options, text, file)) {
    case ImportFormat::kNvidiaSmi: return print_node(options, read_nvidia_smi(text, file), file);
    case ImportFormat::kNcclXml: return print_node(options, read_nccl_xml(text, file), file);
    case ImportFormat::kNcclTests: return print_fit(options, read_nccl_tests(text, file));
  }
  return kInternal;
}

}  // namespace

void add_topology_import(Subcommand topology) {
  auto options = std::make_shared<CommandOptions>();
  Subcommand sub = topology.subcommand(
      "import", "The cluster that nvidia-smi or NCCL's XML describes; a fit of nccl-tests");
  sub.option("file", options->file,
             "Output of nvidia-smi (alone, topo -m, -q, -L or CSV), NCCL or nccl-tests; - reads "
             "standard input")
      .takes("FILE")
      .required();
  sub.option("--from", options->from, "nvidia-smi, nccl-xml or nccl-tests (default: by content)")
      .one_of({"nvidia-smi", "nccl-xml", "nccl-tests"});
  sub.option("--device", options->import.device, "Its device (plait list devices)").takes("NAME");
  sub.option("-o,--output", options->output.file, "Write the cluster or the fit to this file")
      .writes_file();
  sub.option("--format", options->output.format, "Of a fit: text or json").one_of({"text", "json"});
  sub.runs([options] { return import_file(*options); });
}

}  // namespace plait
