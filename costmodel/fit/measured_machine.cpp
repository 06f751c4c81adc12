#include "costmodel/fit/measured_machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <variant>

#include "topologies/catalogue.h"
#include "topologies/reported_names.h"

namespace plait {
namespace {

bool is_of_gpu(const std::vector<Row>& rows) {
  return std::ranges::any_of(rows, [](const Row& row) {
    const auto* run = std::get_if<RunRow>(&row);
    return std::holds_alternative<GpuRow>(row) || (run != nullptr && run->bench == "profile");
  });
}

}  // namespace

std::optional<Device> measured_gpu(const std::vector<Row>& rows, const std::string& asked_for,
                                   Warnings& warnings) {
  const std::string& reported = std::get<RunRow>(rows.front()).processor;
  const auto known = device_reported_as(reported);
  if (!asked_for.empty()) {
    if (known && *known != asked_for) {
      warnings.push_back(
          {"W034",
           fmt::format("--device {}, and the measurements are of \"{}\", which is {}: their "
                       "calibration is for a cluster of {} all the same",
                       asked_for, reported, *known, asked_for)});
    }
    return find_device(asked_for);
  }
  if (known) return find_device(std::string(*known));
  if (!is_of_gpu(rows)) return std::nullopt;
  warnings.push_back(
      {"W009", fmt::format("the catalogue has no device that is reported as \"{}\": its kernels "
                           "are fitted as those of a processor, which do not know tiles and waves; "
                           "name the nearest one with --device (plait list devices)",
                           reported)});
  return std::nullopt;
}

/// A profile has no host: there its GPU stands.
void warn_of_hosts(const std::vector<Row>& rows, Warnings& warnings) {
  std::set<std::string> hosts;
  for (const Row& row : rows) {
    const auto* run = std::get_if<RunRow>(&row);
    if (run != nullptr && run->bench != "profile") hosts.insert(run->host);
  }
  if (hosts.size() < 2) return;
  warnings.push_back(
      {"W015",
       fmt::format("measurements of several hosts are fitted together: {}; hosts of one kind "
                   "differ, so give each a calibration of its own, or be sure that they are alike",
                   fmt::join(hosts, ", "))});
}

}  // namespace plait
