#pragma once
// What --set and -L may say beyond a path of the format and its JSON value: other names of paths,
// and lists whose quotes the shell has taken away.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/scenario.h"

namespace plait {

/// A path by the name that people look for it under.
struct OtherName {
  std::string_view name, path, meaning;
};
inline constexpr std::array<OtherName, 4> kOtherNames = {{
    {"cluster.inter_node.bandwidth", "cluster.fabric.bandwidth", "a NIC port, per direction"},
    {"cluster.inter_node.latency", "cluster.fabric.nic_latency",
     "through a NIC; a message passes two"},
    {"cluster.intra_node.bandwidth", "cluster.device.nvlink_bandwidth",
     "all NVLinks of a device together, per direction"},
    {"cluster.intra_node.latency", "cluster.node.nvlink_latency",
     "between a device and its NVSwitch or NVLink peer"},
}};

/// What `path` is another name of, else itself.
std::string canonical_path(const std::string& path);

/// What messages call the place of its value: "--set strategy.tp=4".
std::string place_of(const Override& given);

/// Throws InputError F005 for a path below the same object as other names, which is none of them:
/// "cluster.inter_node.bandwith".
void refuse_unknown_other_name(const Override& given);

/// "[tp,dp]" as ["tp","dp"]; any other text as it is.
std::string with_quotes(const std::string& value);

/// The sizes that a layout must agree with, as written: dp 0 where it is absent.
struct WrittenSizes {
  Mesh mesh;
  std::int64_t devices = 0;
};
/// Reads them from a scenario whose layout need not fit its machine. Throws InputError for what
/// else is wrong with either.
WrittenSizes written_sizes(const std::string& text, const std::string& file,
                           const std::vector<Override>& overrides);

/// True when the field at `path` may take any value between two others: a quantity or a real
/// number.
bool is_continuous(const std::string& path);

/// The value at `path` of the resolved scenario, as --set would write it; nothing where that is an
/// object or left out.
std::optional<std::string> resolved_value(const Scenario& scenario, const std::string& path);

}  // namespace plait
