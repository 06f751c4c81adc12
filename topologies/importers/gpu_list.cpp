#include "topologies/importers/gpu_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "topologies/importers/gpu_list_forms.h"
#include "topologies/importers/pcie_link.h"

namespace plait {
namespace {

constexpr std::string_view kNoDevices = "No devices were found";

/// The first list that names a GPU, those that say most before the others.
GpuList first_list(const std::vector<TextLine>& lines, const std::string& file) {
  GpuList out = read_smi_log(lines, file);
  const auto unless_found = [&](auto read) {
    if (!out.gpus.empty()) return;
    const bool before = out.found;
    out = read();
    out.found = out.found || before;
  };
  unless_found([&] { return read_smi_csv(lines, file); });
  unless_found([&] { return read_smi_table(lines, file); });
  unless_found([&] { return read_smi_names(lines); });
  if (!out.found) out = read_smi_bare_csv(lines, file);
  return out;
}

/// Lists of several moments or hosts name a place again: it counts once.
void drop_repetitions(GpuList& list) {
  std::set<std::string> seen;
  const std::size_t dropped = std::erase_if(list.gpus, [&](const ListedGpu& gpu) {
    return !gpu.place.empty() && !seen.insert(gpu.place).second;
  });
  if (dropped == 0) return;
  list.notes.push_back(
      fmt::format("{} GPUs are listed again, later or on another node: each counts once, as it "
                  "stands first",
                  dropped));
}

void add_products(const std::vector<ListedGpu>& gpus, const std::string& file, NodeFacts& facts) {
  for (const ListedGpu& gpu : gpus) {
    if (gpu.name.empty()) continue;
    const auto same = std::ranges::find(facts.products, gpu.name, &NodeFacts::Product::name);
    if (same != facts.products.end()) {
      ++same->count;
      continue;
    }
    facts.products.push_back(
        {gpu.name, 1, gpu.memory.value_or(Bytes(0)), Where{file, gpu.line, 0, ""}});
  }
}

/// The lowest of what all GPUs have; several of them are worth a note.
template <class Q, class Value>
std::optional<Q> lowest(const std::vector<ListedGpu>& gpus, Value value, std::string_view what,
                        std::vector<std::string>& notes) {
  std::set<Q> values;
  for (const ListedGpu& gpu : gpus) {
    if (const std::optional<Q> v = value(gpu)) values.insert(*v);
  }
  if (values.empty()) return std::nullopt;
  if (values.size() > 1) {
    notes.push_back(fmt::format("{} from {} to {}: all are taken to have the least", what,
                                to_text(*values.begin()), to_text(*values.rbegin())));
  }
  return *values.begin();
}

std::optional<Bytes> usable(const ListedGpu& gpu) {
  if (!gpu.memory) return std::nullopt;
  return *gpu.memory - std::min(*gpu.memory, gpu.reserved.value_or(Bytes(0)));
}

std::optional<BytesPerSecond> pcie_of(const ListedGpu& gpu) {
  const BytesPerSecond out =
      pcie_bandwidth_of_generation(gpu.pcie_generation, gpu.lanes > 0 ? gpu.lanes : gpu.most_lanes);
  if (out.value <= 0) return std::nullopt;
  return out;
}

/// An idle link falls to a lower generation and keeps its lanes, so fewer lanes than there could be
/// are the slot's.
void note_lanes(const std::vector<ListedGpu>& gpus, std::vector<std::string>& notes) {
  const auto narrow = std::ranges::find_if(
      gpus, [](const ListedGpu& g) { return g.lanes > 0 && g.lanes < g.most_lanes; });
  if (narrow == gpus.end()) return;
  notes.push_back(fmt::format("PCIe runs over {} of {} lanes", narrow->lanes, narrow->most_lanes));
}

void note_mig(const std::vector<ListedGpu>& gpus, std::vector<std::string>& notes) {
  const std::int64_t split = std::ranges::count(gpus, true, &ListedGpu::mig);
  if (split == 0) return;
  notes.push_back(
      fmt::format("MIG is on in {} of {} GPUs, which jobs see as parts: here each counts as one "
                  "whole device (gpu-parts describes the parts of one GPU)",
                  split, gpus.size()));
}

void add_devices(const GpuList& list, NodeFacts& facts) {
  const auto shown = std::ssize(list.gpus), count = std::max(shown, list.attached);
  if (!facts.devices.empty()) {
    if (count != std::ssize(facts.devices)) {
      facts.notes.push_back(fmt::format("{} GPUs are listed, and {} have links: those count", count,
                                        facts.devices.size()));
    }
    return;
  }
  if (count > shown) {
    facts.notes.push_back(
        fmt::format("{} GPUs are attached, and {} shown: the others are taken to "
                    "be alike",
                    count, shown));
  }
  facts.links_hidden = true;
  facts.devices.resize(static_cast<std::size_t>(count));
}

}  // namespace

bool lists_gpus(std::string_view text) {
  for (const std::string_view sign : {"Attached GPUs", "NVIDIA-SMI", "(UUID: GPU-"}) {
    if (text.find(sign) != std::string_view::npos) return true;
  }
  return text.find(kNoDevices) != std::string_view::npos || has_smi_csv(lines_of(text));
}

bool read_gpu_list(const std::vector<TextLine>& lines, const std::string& file, NodeFacts& facts) {
  GpuList list = first_list(lines, file);
  list.found = list.found || std::ranges::any_of(lines, [](const TextLine& l) {
                 return l.text.find(kNoDevices) != std::string::npos;
               });
  if (list.gpus.empty()) {
    if (!list.found || !facts.devices.empty()) return false;
    throw InputError({.code = "T013",
                      .problem = "nvidia-smi lists no GPU",
                      .where = {file, 0, 0, ""},
                      .expected = "at least one GPU with its product name",
                      .cure = "paste the whole output of nvidia-smi, from a node with GPUs"});
  }
  drop_repetitions(list);
  facts.notes.insert(facts.notes.end(), list.notes.begin(), list.notes.end());
  add_devices(list, facts);
  add_products(list.gpus, file, facts);
  const auto power = [](const ListedGpu& g) { return g.power_limit; };
  facts.power_limit = lowest<Watts>(list.gpus, power, "power limits", facts.notes);
  facts.default_power_limit = list.gpus[0].default_limit;
  facts.memory = lowest<Bytes>(list.gpus, usable, "memory", facts.notes);
  facts.pcie_bandwidth = lowest<BytesPerSecond>(list.gpus, pcie_of, "PCIe links", facts.notes);
  note_lanes(list.gpus, facts.notes);
  note_mig(list.gpus, facts.notes);
  return true;
}

}  // namespace plait
