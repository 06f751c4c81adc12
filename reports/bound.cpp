#include "reports/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "reports/human.h"

namespace plait {
namespace {

constexpr std::array<std::string_view, 3> kOfKernels = {"peak_flops", "memory_bandwidth",
                                                        "launch_overhead"};
constexpr std::array<std::string_view, 12> kOfLinks = {
    "nvlink_bandwidth",   "nvlink_latency",          "pcie_bandwidth",
    "pcie_latency",       "infiniband_bandwidth",    "infiniband_latency",
    "ethernet_bandwidth", "ethernet_latency",        "c2c_bandwidth",
    "c2c_latency",        "device_memory_bandwidth", "device_memory_latency"};

/// Of the resources that `counts` takes, the one with most of the critical path; nullptr: none.
const SensitivityLine* largest(const Report& r,
                               const std::function<bool(const std::string&)>& counts) {
  const SensitivityLine* out = nullptr;
  for (const SensitivityLine& s : r.sensitivity) {
    if (counts(s.resource) && s.time_s > (out == nullptr ? 0 : out->time_s)) out = &s;
  }
  return out;
}

std::string words_of(const std::string& resource) {
  if (resource == "peak_flops") return "compute";
  if (resource == "host_issue") return "host";
  return human_words(resource);
}

}  // namespace

std::string bound_text(const Report& r) {
  const bool computes = r.bound_by == "compute";
  if (!computes && !r.bound_by.starts_with("communication")) return r.bound_by;
  const SensitivityLine* number = largest(r, [&](const std::string& resource) {
    return computes ? std::ranges::find(kOfKernels, resource) != kOfKernels.end()
                    : std::ranges::find(kOfLinks, resource) != kOfLinks.end();
  });
  if (number == nullptr || words_of(number->resource) == r.bound_by) return r.bound_by;
  return fmt::format("{} ({})", r.bound_by, words_of(number->resource));
}

std::string bound_of(const Report& r) {
  const SensitivityLine* number = largest(r, [](const std::string&) { return true; });
  const double most = number == nullptr ? 0 : number->time_s;
  if (group_time(r.breakdown, "bubble") > most) {
    return r.mesh[Axis::kPp] > 1 ? "pipeline bubble" : group_words(r, "bubble");
  }
  return number == nullptr ? r.bound_by : words_of(number->resource);
}

}  // namespace plait
