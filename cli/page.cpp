#include "cli/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/json.h"
#include "core/new_file.h"
#include "reports/html/timeline.h"
#include "reports/topology.h"
#include "topologies/placement.h"

namespace plait {
namespace {

/// Larger machines take longer to draw than to simulate.
constexpr std::int64_t kMostDevicesDrawn = 1 << 15;

}  // namespace

Option add_html_option(Subcommand command, std::string& file) {
  return command
      .option("--html", file, "Also write the result as a page with pictures, in one file")
      .writes_file();
}

Page page_of(const std::string& kind, const RunFacts& facts, std::string result) {
  return {kind, facts.scenario, facts.command, facts.version, std::move(result), "", {}};
}

void add_machine(Page& page, const Scenario& s) {
  page.scenario = s.canonical_json;
  page.pictures.push_back({"devices_per_node", fmt::format("{}", s.cluster.devices_per_node)});
  if (!s.placement.empty()) {
    page.pictures.push_back({"devices", fmt::format("[{}]", fmt::join(s.placement, ","))});
  }
  if (s.cluster.world_size() > kMostDevicesDrawn) return;
  const std::string drawing =
      topology_svg(s.cluster, inventory(s.cluster, expand(*s.cluster.graph)));
  page.pictures.push_back({"machine", json_quote(drawing)});
}

void add_pictures(Page& page, const Scenario& s, const Prediction& p) {
  TimelineInputs in = {p.plan, p.simulation.timeline, "simulated"};
  in.fullest_stage = p.report.memory.stage;
  in.devices = devices_of_ranks(s.cluster, s.placement);
  page.pictures.push_back({"timelines", json_list({timeline_json(in)})});
  page.pictures.push_back({"memory", memory_json(in, p.memory)});
  add_machine(page, s);
}

void save_page(const std::string& file, const Page& page) {
  if (file.empty()) return;
  write_file(file, to_html(page));
}

}  // namespace plait
