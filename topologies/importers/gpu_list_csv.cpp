// nvidia-smi --query-gpu=index,name,memory.total,power.limit --format=csv:
//
//   index, name, memory.total [MiB], power.limit [W]
//   0, NVIDIA A100-SXM4-80GB, 81920 MiB, 400.00 W
//
// Columns stand in any order and those of no use here are skipped. With noheader the command, where
// it was pasted too, tells the columns; else only product names are told from other values, since
// 400.00 W may be a limit or a draw. Fields: nvidia-smi --help-query-gpu.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/split.h"
#include "topologies/importers/gpu_list_forms.h"
#include "topologies/reported_names.h"

namespace plait {
namespace {

// What product names begin with; drivers before 465 leave "NVIDIA " out.
constexpr auto kMakers = std::to_array<std::string_view>(
    {"NVIDIA ", "Tesla ", "GeForce ", "Quadro ", "TITAN ", "GRID "});

struct QueryField {
  std::string_view name;
  void (*set)(ListedGpu& gpu, const std::string& value, const Where& where);
};

void set_name(ListedGpu& gpu, const std::string& value, const Where& /*where*/) {
  gpu.name = value;
}
void set_place(ListedGpu& gpu, const std::string& value, const Where& /*where*/) {
  if (gpu.place.empty()) gpu.place = value;
}
void set_limit(ListedGpu& gpu, const std::string& value, const Where& where) {
  limit(gpu.power_limit, watts_in(value, where));
}

constexpr auto kQueryFields = std::to_array<QueryField>({
    {"name", set_name},
    {"gpu_name", set_name},
    {"index", [](auto& gpu, const auto& value, const auto&) { gpu.place = value; }},
    {"pci.bus_id", set_place},
    {"gpu_bus_id", set_place},
    {"uuid", set_place},
    {"gpu_uuid", set_place},
    {"memory.total",
     [](auto& gpu, const auto& value, const auto& at) { gpu.memory = mebibytes_in(value, at); }},
    {"memory.reserved",
     [](auto& gpu, const auto& value, const auto& at) { gpu.reserved = mebibytes_in(value, at); }},
    {"power.limit", set_limit},
    {"enforced.power.limit", set_limit},
    {"power.default_limit",
     [](auto& gpu, const auto& value, const auto& at) { gpu.default_limit = watts_in(value, at); }},
    {"mig.mode.current",
     [](auto& gpu, const auto& value, const auto&) { gpu.mig = value == "Enabled"; }},
    {"pcie.link.gen.max", [](auto& gpu, const auto& value,
                             const auto& at) { gpu.pcie_generation = count_in(value, at); }},
    {"pcie.link.width.current",
     [](auto& gpu, const auto& value, const auto& at) { gpu.lanes = count_in(value, at); }},
    {"pcie.link.width.max",
     [](auto& gpu, const auto& value, const auto& at) { gpu.most_lanes = count_in(value, at); }},
});

using Columns = std::vector<const QueryField*>;  // nullptr: of no use here

/// "memory.total" of "memory.total [MiB]"; "" of what cannot be the name of a field.
std::string field_in(const std::string& cell) {
  const std::string name = cell.substr(0, cell.find(" ["));
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
  });
  return plain && (name.size() == cell.size() || cell.ends_with(']')) ? name : "";
}

/// The columns that these titles are of; none where one is no title, or none is known.
Columns columns_of(const std::vector<std::string>& titles) {
  Columns out;
  for (const std::string& title : titles) {
    const std::string name = field_in(title);
    if (name.empty()) return {};
    const auto* const found = std::ranges::find(kQueryFields, name, &QueryField::name);
    out.push_back(found == kQueryFields.end() ? nullptr : found);
  }
  // Alone, "index" may be any word.
  const bool known =
      titles.size() == 1
          ? out[0] != nullptr && out[0]->set == set_name
          : std::ranges::any_of(out, [](const QueryField* f) { return f != nullptr; });
  return known ? out : Columns{};
}

/// The columns that a pasted command asks for without a header.
Columns columns_of_command(const std::string& line) {
  constexpr std::string_view kOption = "--query-gpu=";
  const std::size_t at = line.find(kOption);
  if (at == std::string::npos || line.find("noheader") == std::string::npos) return {};
  const std::string fields = line.substr(at + kOption.size());
  return columns_of(cells_of(fields.substr(0, fields.find_first_of(" \t")), ','));
}

bool ends_table(const std::string& line) {
  const std::string_view text = trimmed(line);
  return text.empty() || text.starts_with("```") || text.starts_with('$') || text.starts_with('#');
}

ListedGpu gpu_of(const Columns& columns, const std::vector<std::string>& cells, const Where& at) {
  ListedGpu out{.line = at.line};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] != nullptr) columns[i]->set(out, cells[i], at);
  }
  return out;
}

/// The rows from `first` on, up to a line that is none.
void read_rows(const std::vector<TextLine>& lines, std::size_t first, const Columns& columns,
               const std::string& file, GpuList& out) {
  for (std::size_t i = first; i < lines.size() && !ends_table(lines[i].text); ++i) {
    const std::vector<std::string> cells = cells_of(lines[i].text, ',');
    const Where at{file, lines[i].number, 0, ""};
    if (cells.size() == columns.size()) {
      if (columns_of(cells).empty()) out.gpus.push_back(gpu_of(columns, cells, at));
    } else if (cells.size() > 1) {
      throw InputError(
          {.code = "T014",
           .problem = fmt::format("{} values under {} titles", cells.size(), columns.size()),
           .where = at,
           .expected = "a value for each title",
           .cure = "paste the whole output of nvidia-smi, and nothing behind it"});
    }
  }
}

bool is_product(const std::string& cell) {
  return device_reported_as(cell) || std::ranges::any_of(kMakers, [&](std::string_view maker) {
           return cell.starts_with(maker);
         });
}

bool has_unit(const std::vector<std::string>& cells) {
  return cells.size() > 1 && std::ranges::any_of(cells, [](const std::string& c) {
           return c.ends_with(" MiB") || c.ends_with(" W");
         });
}

/// Values of which one is a product name: one that is known, or any beside a value with a unit.
bool is_bare_row(const std::vector<std::string>& cells) {
  return std::ranges::any_of(
             cells, [](const std::string& c) { return device_reported_as(c).has_value(); }) ||
         (has_unit(cells) && std::ranges::any_of(cells, is_product));
}

/// Rows of no header: each that has a product name among its values.
GpuList read_bare_rows(const std::vector<TextLine>& lines) {
  GpuList out;
  bool others = false;
  for (const TextLine& l : lines) {
    ListedGpu gpu{.line = l.number};
    const std::vector<std::string> cells = cells_of(l.text, ',');
    if (!is_bare_row(cells)) continue;
    for (const std::string& cell : cells) {
      if (is_product(cell)) gpu.name = cell;
      if (cell.starts_with("GPU-")) gpu.place = cell;
    }
    others = others || cells.size() > 1;
    out.gpus.push_back(std::move(gpu));
  }
  out.found = !out.gpus.empty();
  if (out.found && others) {
    out.notes.emplace_back(
        "values without a header: product names are read, the rest is left out (leave out "
        "noheader for limits and memory)");
  }
  return out;
}

/// Rows of values with units, of which none is a product name.
void refuse_unknown_values(const std::vector<TextLine>& lines, const std::string& file) {
  for (const TextLine& l : lines) {
    if (!has_unit(cells_of(l.text, ','))) continue;
    throw InputError({.code = "T017",
                      .problem = "values without a header, and none is a product name that "
                                 "drivers report",
                      .where = {file, l.number, 0, ""},
                      .expected = "a header such as: index, name, memory.total [MiB]",
                      .cure = "run nvidia-smi with --format=csv, without noheader"});
  }
}

}  // namespace

GpuList read_smi_csv(const std::vector<TextLine>& lines, const std::string& file) {
  GpuList out;
  for (std::size_t i = 0; i < lines.size() && out.gpus.empty(); ++i) {
    Columns columns = columns_of(cells_of(lines[i].text, ','));
    if (columns.empty()) columns = columns_of_command(lines[i].text);
    if (columns.empty()) continue;
    out.found = true;
    read_rows(lines, i + 1, columns, file, out);
  }
  return out;
}

GpuList read_smi_bare_csv(const std::vector<TextLine>& lines, const std::string& file) {
  GpuList out = read_bare_rows(lines);
  if (!out.found) refuse_unknown_values(lines, file);
  return out;
}

bool has_smi_csv(const std::vector<TextLine>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> cells = cells_of(lines[i].text, ',');
    if (is_bare_row(cells)) return true;
    if (columns_of(cells).empty()) continue;
    // Other tables have a "name", too.
    const bool dotted = std::ranges::any_of(
        cells, [](const std::string& c) { return c.find('.') != std::string::npos; });
    if (dotted) return true;
    if (i + 1 < lines.size() && std::ranges::any_of(cells_of(lines[i + 1].text, ','), is_product)) {
      return true;
    }
  }
  return false;
}

}  // namespace plait
