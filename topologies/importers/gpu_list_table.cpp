// nvidia-smi alone, and nvidia-smi -L:
//
//   |   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |                    0 |
//   | N/A   29C    P0    54W / 400W |     85MiB / 81251MiB |      0%      Default |
//   |                               |                      |             Disabled |
//
//   GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)
//     MIG 1g.10gb     Device  0: (UUID: MIG-...)
//
// The first line of a GPU ends its first cell with the persistence mode, or under Windows the
// driver model. Columns are wider since driver 530, and names are cut off less.

#include <algorithm>
#include <array>

#include "core/split.h"
#include "topologies/importers/gpu_list_forms.h"

namespace plait {
namespace {

constexpr std::array<std::string_view, 6> kModes = {"On", "Off", "WDDM", "TCC", "MCDM", "N/A"};

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// What stands between bars, without the spaces around it.
std::vector<std::string> cells_between_bars(std::string_view line) {
  std::vector<std::string> out;
  std::size_t bar = line.find('|');
  while (bar != std::string_view::npos) {
    const std::size_t next = line.find('|', bar + 1);
    if (next == std::string_view::npos) break;
    out.emplace_back(trimmed(line.substr(bar + 1, next - bar - 1)));
    bar = next;
  }
  return out;
}

/// The index and the name in "0  NVIDIA H100 80GB HBM3          Off"; nothing of other cells.
std::optional<ListedGpu> gpu_in(const std::string& cell, int line) {
  std::vector<std::string> words = words_of(cell);
  if (words.size() < 3 || !is_number(words[0])) return std::nullopt;
  if (std::ranges::find(kModes, words.back()) == kModes.end()) return std::nullopt;
  ListedGpu out{.line = line, .place = words[0]};
  for (std::size_t i = 1; i + 1 < words.size(); ++i) out.name += (i > 1 ? " " : "") + words[i];
  return out;
}

/// What follows the last slash in "85MiB / 81251MiB"; "" without one.
std::string_view behind_slash(std::string_view cell) {
  const std::size_t slash = cell.rfind(" /");
  return slash == std::string_view::npos ? "" : trimmed(cell.substr(slash + 2));
}

void set(ListedGpu& gpu, const std::vector<std::string>& cells, const Where& where) {
  if (const std::string_view total = behind_slash(cells[1]); !total.empty()) {
    gpu.memory = mebibytes_in(total, where);
    gpu.power_limit = watts_in(behind_slash(cells[0]), where);
  } else if (cells[2] == "Enabled" || cells[2] == "Enabled*") {  // *: another one is pending
    gpu.mig = true;
  }
}

}  // namespace

GpuList read_smi_table(const std::vector<TextLine>& lines, const std::string& file) {
  GpuList out;
  bool in_gpu = false;
  for (const TextLine& l : lines) {
    if (l.text.find("NVIDIA-SMI") != std::string::npos) out.found = true;
    if (l.text.find("MIG devices:") != std::string::npos ||
        l.text.find("Processes:") != std::string::npos)
      in_gpu = false;
    const std::vector<std::string> cells = cells_between_bars(l.text);
    if (cells.size() < 3) continue;
    if (const std::optional<ListedGpu> gpu = gpu_in(cells[0], l.number)) {
      out.gpus.push_back(*gpu);
      out.found = in_gpu = true;
    } else if (in_gpu) {
      set(out.gpus.back(), cells, Where{file, l.number, 0, ""});
    }
  }
  return out;
}

GpuList read_smi_names(const std::vector<TextLine>& lines) {
  GpuList out;
  for (const TextLine& l : lines) {
    const std::string_view text = trimmed(l.text);
    const std::size_t uuid = text.find(" (UUID: "), colon = text.find(": ");
    if (uuid == std::string_view::npos) continue;
    if (text.starts_with("MIG ") && !out.gpus.empty()) out.gpus.back().mig = true;
    if (!text.starts_with("GPU ") || colon >= uuid || !is_number(text.substr(4, colon - 4)))
      continue;
    out.gpus.push_back({.line = l.number,
                        .place = std::string(text.substr(4, colon - 4)),
                        .name = std::string(trimmed(text.substr(colon + 2, uuid - colon - 2)))});
    out.found = true;
  }
  return out;
}

}  // namespace plait
