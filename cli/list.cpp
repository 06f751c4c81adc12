// plait list KIND: the names that a scenario can use.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "model/presets.h"
#include "plan/schedule.h"
#include "reports/human.h"
#include "reports/terminal.h"
#include "scenarios/framework.h"
#include "scenarios/systems.h"
#include "topologies/catalogue.h"
#include "topologies/node_spec.h"

namespace plait {
namespace {

std::vector<std::string> schedule_names() {
  std::vector<std::string> out;
  for (const ScheduleKind& k : kSchedules) out.emplace_back(k.name);
  return out;
}

/// The table of systems: name, preset, page, what is split.
std::vector<std::string> system_table() {
  std::size_t name = 0, preset = 0, page = 0;
  for (const System& s : systems()) {
    name = std::max(name, std::string(s.name).size());
    preset = std::max(preset, s.preset_path().size());
    page = std::max(page, s.page_path().size());
  }
  std::vector<std::string> out;
  for (const System& s : systems()) {
    out.push_back(fmt::format("{:<{}}  {:<{}}  {:<{}}  {}", s.name, name, s.preset_path(), preset,
                              s.page_path(), page, s.splits));
  }
  return out;
}

/// The same for a window that the table is too wide for: each system's name, and below it the rest.
std::vector<std::string> system_entries(int width) {
  constexpr int kIndent = 4;
  std::vector<std::string> out;
  for (const System& s : systems()) {
    out.emplace_back(s.name);
    for (const std::string& line : wrap(s.splits, width - kIndent)) {
      out.push_back(std::string(kIndent, ' ') + line);
    }
    for (const std::string& file : {s.preset_path(), s.page_path()}) {
      out.push_back(std::string(kIndent, ' ') + file);
    }
  }
  return out;
}

/// The table where programs read it; what a person sees has no lines that are wider than the
/// window.
std::vector<std::string> system_rows() {
  std::vector<std::string> table = system_table();
  const int width = OutputOptions{}.style().width;
  const bool fits = std::all_of(table.begin(), table.end(), [&](const std::string& row) {
    return display_width(row) <= width;
  });
  return fits || ::isatty(STDOUT_FILENO) == 0 ? table : system_entries(width);
}

/// Names, and behind each what it stands for.
using Described = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> in_columns(const Described& entries) {
  std::size_t width = 0;
  for (const auto& [name, says] : entries) width = std::max(width, name.size());
  std::vector<std::string> out;
  for (const auto& [name, says] : entries) {
    out.push_back(fmt::format("{:<{}}  {}", name, width, says));
  }
  return out;
}

std::vector<std::string> model_rows() {
  Described out;
  for (const std::string& name : preset_names()) {
    const Model& m = *find_preset(name);
    out.emplace_back(
        name, fmt::format("{} parameters, {} layers, hidden {}",
                          human_parameters(count_parameters(m).total(m)), m.layers, m.hidden));
  }
  return in_columns(out);
}

std::vector<std::string> device_rows() {
  Described out;
  for (const std::string& name : device_names()) {
    const Device d = find_device(name);
    out.emplace_back(
        name, fmt::format("{}, {}B/s, {}FLOP/s dense bf16", human_bytes(d.memory.value),
                          human_rate(d.memory_bandwidth.value), human_rate(d.peak_bf16.value)));
  }
  return in_columns(out);
}

std::vector<std::string> cluster_rows() {
  Described out;
  for (const std::string& name : cluster_names()) {
    const NodeSpec node = find_node(name);
    out.emplace_back(name, fmt::format("{} x {}{}", node.devices, node.device,
                                       node.fabric.empty() ? "" : ", nodes over " + node.fabric));
  }
  return in_columns(out);
}

std::vector<std::string> fabric_rows() {
  Described out;
  for (const std::string& name : fabric_names()) {
    const Fabric f = find_fabric(name);
    out.emplace_back(name, fmt::format("{}, {}bit/s for each NIC", name_of(f.link),
                                       human_rate(8 * f.bandwidth.value)));
  }
  return in_columns(out);
}

std::vector<std::string> framework_rows() {
  Described out;
  for (const Framework& f : frameworks()) out.emplace_back(f.name, f.title);
  return in_columns(out);
}

/// Scenario files under scenarios/ of the current folder.
std::vector<std::string> scenario_files() {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it("scenarios", error), end;
       !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".json") out.push_back(it->path().generic_string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Kind {
  const char* name;
  std::vector<std::string> (*names)();  // where all kinds are listed
  std::vector<std::string> (*rows)();   // where this one is: each begins with the name
};
constexpr std::array<Kind, 8> kKinds = {{{"models", preset_names, model_rows},
                                         {"devices", device_names, device_rows},
                                         {"clusters", cluster_names, cluster_rows},
                                         {"fabrics", fabric_names, fabric_rows},
                                         {"frameworks", framework_names, framework_rows},
                                         {"schedules", schedule_names, schedule_names},
                                         {"strategies", system_rows, system_rows},
                                         {"scenarios", scenario_files, scenario_files}}};

int list(const std::string& what) {
  std::string text;
  if (what == "scenarios" && scenario_files().empty()) {
    std::fprintf(stderr,
                 "no scenarios/ with files here: go to the folder that plait was built from\n");
  }
  for (const Kind& kind : kKinds) {
    if (!what.empty() && what != kind.name) continue;
    if (what.empty()) text += fmt::format("{}\n", kind.name);
    for (const std::string& name : what.empty() ? kind.names() : kind.rows()) {
      text += fmt::format("{}{}\n", what.empty() ? "  " : "", name);
    }
  }
  print_result({}, text);
  return kYes;
}

}  // namespace

void add_list(Command& command) {
  auto what = std::make_shared<std::string>();
  Subcommand sub = command.program.subcommand("list", "List names that a scenario can use");
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  sub.option("kind", *what, "What to list (default: everything)").one_of(names);
  sub.runs([what] { return list(*what); });
}

}  // namespace plait
