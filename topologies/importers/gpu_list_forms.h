#pragma once
// One reader for each list of nvidia-smi; topologies/importers/gpu_list.h has what they share.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "topologies/importers/lines.h"

namespace plait {

struct ListedGpu {
  int line = 0;
  std::string place = {};  // its index or its bus; "" not said
  std::string name = {};   // as the driver reports it; may be cut off: "NVIDIA A100-SXM..."
  std::optional<Bytes> memory = {};    // all of it
  std::optional<Bytes> reserved = {};  // of it, what the driver keeps for itself
  std::optional<Watts> power_limit = {}, default_limit = {};
  bool mig = false;         // split into MIG devices
  int pcie_generation = 0;  // the highest that GPU and host have; an idle link falls below it
  int lanes = 0;            // in use; 0 not said
  int most_lanes = 0;
};

struct GpuList {
  bool found = false;         // there is such a list, maybe an empty one
  std::int64_t attached = 0;  // of the node, where the list says so and shows fewer
  std::vector<ListedGpu> gpus;
  std::vector<std::string> notes;
};

GpuList read_smi_log(const std::vector<TextLine>& lines, const std::string& file);
GpuList read_smi_csv(const std::vector<TextLine>& lines, const std::string& file);
GpuList read_smi_table(const std::vector<TextLine>& lines, const std::string& file);
GpuList read_smi_names(const std::vector<TextLine>& lines);
/// Without a header: only product names. Throws InputError T017 for values without any.
GpuList read_smi_bare_csv(const std::vector<TextLine>& lines, const std::string& file);
/// Lines that one of the two readers of CSV would take.
bool has_smi_csv(const std::vector<TextLine>& lines);

/// "700.00 W" -> 700, with the unit or without. Nothing of "N/A", "[Not Supported]" and other words
/// that stand for a value that there is not. Throws InputError T014 for what is neither.
std::optional<double> number_in(std::string_view text, std::string_view unit, const Where& where);

/// The same, where it is of this unit.
std::optional<Bytes> mebibytes_in(std::string_view text, const Where& where);
std::optional<Watts> watts_in(std::string_view text, const Where& where);
int count_in(std::string_view text, const Where& where);  // also "16x"; 0 for no value

/// Of several limits on one GPU the lowest holds.
void limit(std::optional<Watts>& so_far, std::optional<Watts> other);

}  // namespace plait
