// plait topology import FILE: what other programs say of a machine, as a scenario's cluster; and
// what nccl-tests measured, beside the data sheet.

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/options.h"
#include "cli/topology.h"
#include "core/file.h"
#include "core/json.h"
#include "core/units.h"
#include "costmodel/data_sheet_link.h"
#include "costmodel/fit/latency_bandwidth.h"
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
  Warnings warnings;
  for (const std::string& note : imported.notes) warnings.push_back({"W005", note});
  print_warnings(warnings);
  const std::string json = json_pretty(cluster_json(imported)) + "\n";
  print_result(options.output, json);
  if (options.output.file.empty() || options.output.file == "-") return kYes;
  const TopologySummary summary = summarize(parse_machine(json, options.output.file).cluster);
  print_result({}, render(topology_lines(summary), OutputOptions{}.style()));
  return kYes;
}

/// "8 NICs per node"
std::string words_of(const DataSheetLink& link) {
  switch (link.kind) {
    case DataSheetLink::Kind::kNvlink: return "nvlink";
    case DataSheetLink::Kind::kPcie: return "pcie";
    case DataSheetLink::Kind::kNic: break;
  }
  if (link.crossing > 0) {
    return fmt::format("a rank's share of {} NICs per node, which {} of its data cross", link.nics,
                       human_percent(link.crossing, 0));
  }
  return link.nics > 1 ? fmt::format("{} NICs per node", link.nics) : "one NIC";
}

/// The field of a scenario that has the rate of one such link.
const char* field_of(DataSheetLink::Kind kind) {
  switch (kind) {
    case DataSheetLink::Kind::kNic: return "cluster.fabric.bandwidth";
    case DataSheetLink::Kind::kNvlink: return "cluster.device.nvlink_link_bandwidth";
    case DataSheetLink::Kind::kPcie: return "cluster.device.pcie_bandwidth";
  }
  return "";
}

std::string fit_text(const CollectiveTimings& run, const LatencyBandwidth& fit,
                     const std::optional<DataSheetLink>& link) {
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
  if (!link || link->bandwidth.value <= 0 || fit.busbw.value <= 0) return out;
  out +=
      fmt::format("data sheet    {} of {} ({}): measured is {} of it\n", to_text(link->bandwidth),
                  words_of(*link), link->cluster, human_percent(fit.busbw / link->bandwidth, 0));
  if (link->as_measured) {
    out += fmt::format("as links      --set {}=\"{}\"\n", field_of(link->kind),
                       to_text(*link->as_measured));
  }
  return out;
}

std::string fit_json(const CollectiveTimings& run, const LatencyBandwidth& fit,
                     const std::optional<DataSheetLink>& link) {
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
                    {"data_sheet_Bps", link ? link->bandwidth.value : 0},
                    {"data_sheet_of", link ? words_of(*link) : ""},
                    {"wrong_rows", run.wrong},
                    {"rows", rows}});
}

int print_fit(const CommandOptions& options, const CollectiveTimings& run) {
  if (run.wrong > 0) {
    print_warnings(
        {{"W016", fmt::format("{} of {} rows computed wrong results (#wrong) and are not fitted",
                              run.wrong, std::ssize(run.rows) + run.wrong)}});
  }
  const LatencyBandwidth fit = fit_latency_bandwidth(run);
  const std::optional<DataSheetLink> link = data_sheet_link(run, options.import.device);
  const bool json = options.output.kind() == Format::kJson;
  print_result(options.output, json ? fit_json(run, fit, link) : fit_text(run, fit, link));
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
