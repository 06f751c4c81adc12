#include "scenarios/published/machine_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/spelling.h"
#include "scenarios/published/device_called.h"
#include "scenarios/published/fabric_words.h"
#include "scenarios/published/scenario_of.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

/// Beginning of a published GPU name -> node and device of the catalogue. The longest come first.
struct NamedMachine {
  std::string_view gpu, node, device;
};
constexpr NamedMachine kMachines[] = {
    {"A100-SXM4-80GB", "dgx-a100", "a100-80-sxm"},
    {"A100-SXM4-40GB", "dgx-a100", "a100-40-sxm"},
    {"A800-SXM4-80GB", "dgx-a100", "a800-80-sxm"},
    {"H100-SXM-96GB", "hgx-h100", "h100-96-sxm"},
    {"H100-SXM", "hgx-h100", "h100-sxm"},
    {"H800-SXM", "hgx-h100", "h800-sxm"},
    {"H200-SXM", "hgx-h200", "h200-sxm"},
    {"GH200-144", "gh200-4", "gh200-144"},
    {"GH200 144", "gh200-4", "gh200-144"},
    {"GH200", "gh200-4", "gh200-96"},
    {"GB300", "gb300-nvl72", "gb300"},
    {"GB200", "gb200-nvl72", "gb200"},
    {"B300-SXM", "hgx-b300", "b300"},
    {"B300", "hgx-b300", "b300"},
    {"B200-SXM", "hgx-b200", "b200"},
    {"B200", "hgx-b200", "b200"},
    {"V100-SXM3-32GB", "dgx-2", "v100-sxm3-32"},
    {"V100-SXM2-32GB", "dgx-v100", "v100-sxm2-32"},
    {"V100-SXM2-16GB", "dgx-v100", "v100-sxm2-16"},
};

/// A node of the catalogue and its device.
struct Machine {
  std::string node, device;
};

/// Where the catalogue has the device that a GPU's name stands for; empty: no device is called so.
Machine machine_called(const std::string& gpu) {
  for (const NamedMachine& m : kMachines) {
    if (gpu.starts_with(m.gpu)) return {std::string(m.node), std::string(m.device)};
  }
  const std::string device = device_called(gpu);
  if (device.empty()) return {};
  const auto* usual = std::ranges::find(kMachines, device, &NamedMachine::device);
  const bool known = usual != std::end(kMachines);
  return {known ? std::string(usual->node) : node_with(device), device};
}

/// What is said of it where its name is none of kMachines, or of several.
void tell_of_machine(const std::string& gpu, const Machine& machine,
                     std::vector<std::string>& assumed) {
  const bool named =
      std::ranges::any_of(kMachines, [&](const NamedMachine& m) { return gpu.starts_with(m.gpu); });
  if (!named) assumed.push_back(fmt::format("\"{}\": {} in {}", gpu, machine.device, machine.node));
  const std::size_t kinds = models_called(gpu).size();
  if (kinds < 2) return;
  assumed.push_back(
      fmt::format("\"{}\": {} kinds of GPU, all taken for {}", gpu, kinds, machine.device));
}

Machine machine_of(const std::string& gpu, std::vector<std::string>& assumed) {
  Machine out = machine_called(gpu);
  if (out.device.empty())
    throw NotRepresentable(fmt::format("no device of the catalogue is called \"{}\"", gpu));
  tell_of_machine(gpu, out, assumed);
  return out;
}

constexpr double kBytesOfGib = 1024.0 * 1024 * 1024;

double gibibytes_of(const std::string& device) {
  return static_cast<double>(find_device(device).memory.value) / kBytesOfGib;
}

/// "DGX A100 640GB" says what the GPUs of a node have together: a board is "DGX A100 80GB".
std::string board_of(const std::string& gpu) {
  const double said = gigabytes_said(gpu);
  const Machine machine = machine_called(gpu);
  if (said == 0 || machine.device.empty() || gpu.starts_with("GH200")) return gpu;
  const auto devices = static_cast<double>(find_node(machine.node).devices);
  const bool of_node = said > 2 * gibibytes_of(machine.device) && std::fmod(said, devices) == 0;
  return of_node ? with_gigabytes(gpu, said / devices) : gpu;
}

/// Where its node has no NVLink the board is one for PCIe, if there is such a one.
std::string on_board(const std::string& gpu, const FabricWords& fabric) {
  const bool says_form = has_pattern(lower_case(gpu), "sxm|pcie|nvl");
  if (!fabric.no_nvlink || says_form) return gpu;
  const std::string device = device_called(gpu + " PCIe");
  return !device.empty() && device.ends_with("-pcie") ? gpu + " PCIe" : gpu;
}

std::string fabric_name(const FabricWords& words) {
  if (words.omni_path) return "opa100";
  if (words.efa) {
    if (words.gigabits <= 100) return "efa100";
    return words.gigabits <= 400 ? "efa400" : "efa800";
  }
  if (words.ethernet) {
    if (words.gigabits <= 100) return "roce100";
    return words.gigabits <= 200 ? "roce200" : "roce400";
  }
  if (words.gigabits <= 100) return "edr100";
  if (words.gigabits <= 200) return "hdr200";
  return words.gigabits <= 400 ? "ndr400" : "xdr800";
}

/// Whether Adam runs on them: wherever state is kept outside of the device.
bool steps_on_processors(const std::string& offload) {
  const std::string text = lower_case(offload);
  return !text.empty() && !text.starts_with("activation");
}

/// The machine that AWS rents out with the device; else the usual one.
std::string rented_at_aws(const Machine& machine) {
  for (const std::string& name : cluster_names()) {
    if (name.starts_with("aws-") && find_node(name).device == machine.device) return name;
  }
  return machine.node;
}

/// GPUs of several domains are dealt to them evenly.
std::int64_t nodes_for(std::int64_t gpus, std::int64_t per_node) {
  const std::int64_t nodes = (gpus + per_node - 1) / per_node;
  if (gpus % nodes != 0) {
    throw NotRepresentable(fmt::format("{} GPUs do not fill nodes of {}", gpus, per_node));
  }
  return nodes;
}

/// Gbit/s. NCCL gets less of a port than this (fabrics/opa100.json); what is said to be less is
/// what it got.
constexpr double kOmniPathPort = 100;

/// What the words leave open is of the fabric that usually joins such nodes; empty: all of it.
std::string named_fabric(FabricWords& words, const NodeSpec& node,
                         std::vector<std::string>& assumed) {
  if (words.gigabits > 0) return fabric_name(words);
  assumed.push_back(fmt::format("fabric: {}the one that usually joins such nodes",
                                words.ethernet ? "Ethernet, as fast as " : ""));
  if (node.fabric.empty()) return "";
  words.gigabits = find_fabric(node.fabric).bandwidth.value * 8e-9;
  return words.ethernet ? fabric_name(words) : "";
}

/// Between the nodes: of the words, or what usually joins such nodes.
void add_fabric(FabricWords words, const NodeSpec& node, nlohmann::ordered_json& cluster,
                std::vector<std::string>& assumed) {
  const std::string named = named_fabric(words, node, assumed);
  const bool thins_out = words.oversubscription > 1 && !node.fabric.empty();
  if (words.nics > 0 && node.family != Family::kNvlinkDomain)
    cluster["node"] = {{"nics", words.nics}};
  if (named.empty() && !thins_out) return;
  const std::string name = named.empty() ? node.fabric : named;
  cluster["fabric"] = name;
  const double usual = find_fabric(name).bandwidth.value * 8e-9;
  if (words.omni_path ? words.gigabits < kOmniPathPort : std::abs(usual - words.gigabits) > 1) {
    cluster["fabric"] = {{"preset", name},
                         {"bandwidth", fmt::format("{} GB/s", words.gigabits / 8)}};
  }
  if (!thins_out) return;
  if (cluster["fabric"].is_string()) cluster["fabric"] = {{"preset", name}};
  cluster["fabric"]["oversubscription"] = words.oversubscription;
}

/// The device, with the memory that the record's name of it says, where that is another one. Names
/// of GH200 say its processor's.
nlohmann::ordered_json device_of(const std::string& gpu, const std::string& device,
                                 std::vector<std::string>& assumed) {
  constexpr double kNear = 0.1;  // what drivers keep, and GB for GiB
  const double said = gigabytes_said(gpu), usual = gibibytes_of(device);
  if (said == 0 || gpu.starts_with("GH200") || std::abs(said - usual) <= kNear * usual)
    return device;
  assumed.push_back(
      fmt::format("\"{}\": {} with {:.0f} GiB, all else the same", gpu, device, said));
  return {{"preset", device}, {"memory", fmt::format("{:.0f} GiB", said)}};
}

}  // namespace

std::string device_of_run(const PublishedRun& run) { return machine_called(run.gpu).device; }

std::int64_t usual_gpus_per_node(const PublishedRun& run) {
  constexpr std::int64_t kUsual = 8;  // of a device that the catalogue lacks
  const Machine machine = machine_called(run.gpu);
  if (machine.node.empty()) return kUsual;
  const NodeSpec node = find_node(machine.node);
  return node.devices_per_host > 0 ? node.devices_per_host : node.devices;
}

nlohmann::ordered_json cluster_of(const PublishedRun& run, std::vector<std::string>& assumed) {
  const FabricWords fabric = read_fabric(run.interconnect, run.gpus_per_node);
  const std::string board = board_of(run.gpu);
  if (board != run.gpu)
    assumed.push_back(fmt::format("\"{}\": the memory of a node, \"{}\" each", run.gpu, board));
  const Machine machine = machine_of(on_board(board, fabric), assumed);
  const std::string preset = fabric.efa ? rented_at_aws(machine) : machine.node;
  const NodeSpec node = find_node(preset);
  nlohmann::ordered_json out = {{"preset", preset},
                                {"device", device_of(board, machine.device, assumed)}};
  if (steps_on_processors(run.layout.offload)) {  // Adam's
    const std::string& processors = run.processors.empty() ? node.processor : run.processors;
    if (processors.empty()) throw NotRepresentable("no processors are known of its nodes");
    out["processor"] = processors;
    assumed.push_back(fmt::format("processors: {}", processors));
  }
  if (run.gpus <= 0) throw NotRepresentable("the number of GPUs is not published");
  // A node of the record is a node of the scenario, except where an NVLink domain spans trays.
  const bool domain = node.family == Family::kNvlinkDomain;
  const std::int64_t nodes = nodes_for(run.gpus, domain ? 72 : run.gpus_per_node);
  out["nodes"] = nodes;
  out["devices_per_node"] = run.gpus / nodes;
  if (fabric.no_nvlink && node.family != Family::kPcie)
    assumed.push_back(fmt::format("not read: cluster.interconnect (\"{}\": {} has NVLink)",
                                  run.interconnect, preset));
  if (nodes == 1) return out;
  if (fabric.unread)
    assumed.push_back(fmt::format("not read: cluster.interconnect (\"{}\")", run.interconnect));
  add_fabric(domain ? read_fabric(run.interconnect, run.gpus / nodes) : fabric, node, out, assumed);
  return out;
}

}  // namespace plait
