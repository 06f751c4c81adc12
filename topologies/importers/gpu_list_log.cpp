// nvidia-smi -q:
//
//   Attached GPUs                             : 8
//   GPU 00000000:1B:00.0
//       Product Name                          : NVIDIA H100 80GB HBM3
//       MIG Mode
//           Current                           : Disabled
//       FB Memory Usage
//           Total                             : 81559 MiB
//
// Sections are told by their names, not by their indentation, which pasting may lose. MIG devices
// have a section "FB Memory Usage" of their own, of less than their GPU.

#include <algorithm>
#include <cctype>

#include "core/split.h"
#include "topologies/importers/gpu_list_forms.h"

namespace plait {
namespace {

struct Entry {
  std::string section, key, value;
  Where where;
};

/// "GPU 00000000:1B:00.0" -> the bus; "" of another line.
std::string bus_of(const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  const bool bus = words.size() == 2 && words[0] == "GPU" && words[1].size() > 8 &&
                   words[1].find(':') != std::string::npos &&
                   std::ranges::all_of(words[1], [](unsigned char c) {
                     return std::isxdigit(c) != 0 || c == ':' || c == '.';
                   });
  return bus ? words[1] : "";
}

void set_memory(ListedGpu& gpu, const Entry& e) {
  if (e.key == "Total") {
    const std::optional<Bytes> total = mebibytes_in(e.value, e.where);
    if (!total || (gpu.memory && *gpu.memory >= *total)) return;
    gpu.memory = total;
    gpu.reserved.reset();
  } else if (e.key == "Reserved" && !gpu.reserved) {
    gpu.reserved = mebibytes_in(e.value, e.where);
  }
}

/// Since driver 530 the limit in force is the "Current" one, before it the "Enforced" one.
void set_power(ListedGpu& gpu, const Entry& e) {
  if (e.key == "Current Power Limit" || e.key == "Enforced Power Limit" || e.key == "Power Limit") {
    limit(gpu.power_limit, watts_in(e.value, e.where));
  } else if (e.key == "Default Power Limit") {
    gpu.default_limit = watts_in(e.value, e.where);
  }
}

void set(ListedGpu& gpu, const Entry& e) {
  if (e.key == "Product Name") gpu.name = e.value;
  if (e.section == "MIG Mode" && e.key == "Current") gpu.mig = e.value.starts_with("Enabled");
  if (e.section == "FB Memory Usage") set_memory(gpu, e);
  if (e.section == "GPU Power Readings" || e.section == "Power Readings") set_power(gpu, e);
  if (e.section == "PCIe Generation" && e.key == "Max") {
    gpu.pcie_generation = count_in(e.value, e.where);
  }
  if (e.section == "Link Width" && e.key == "Max") gpu.most_lanes = count_in(e.value, e.where);
  if (e.section == "Link Width" && e.key == "Current") gpu.lanes = count_in(e.value, e.where);
}

}  // namespace

GpuList read_smi_log(const std::vector<TextLine>& lines, const std::string& file) {
  GpuList out;
  std::string section;
  for (const TextLine& l : lines) {
    if (const std::string bus = bus_of(l.text); out.found && !bus.empty()) {
      out.gpus.push_back({.line = l.number, .place = bus});
      section.clear();
      continue;
    }
    const std::size_t colon = l.text.find(':');
    if (colon == std::string::npos) {
      section = std::string(trimmed(l.text));
      continue;
    }
    const std::string_view text = l.text;
    const Entry e{section, std::string(trimmed(text.substr(0, colon))),
                  std::string(trimmed(text.substr(colon + 1))), Where{file, l.number, 0, ""}};
    if (e.key == "Attached GPUs") {
      if (out.found) break;  // another host, or the same one later
      out.found = true;
      out.attached = count_in(e.value, e.where);
    } else if (!out.gpus.empty()) {
      set(out.gpus.back(), e);
    }
  }
  return out;
}

}  // namespace plait
