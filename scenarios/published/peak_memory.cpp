#include "scenarios/published/peak_memory.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace plait {
namespace {

/// GB are read as 2^30 bytes: the figures are of PyTorch's and nvidia-smi's printouts, which divide
/// by 2^30.
struct Unit {
  std::string_view name;
  double bytes;
};
constexpr double kMib = 1024.0 * 1024, kGib = 1024 * kMib;
constexpr Unit kUnits[] = {{"bytes", 1}, {"gib", kGib}, {"mib", kMib}, {"gb", kGib}, {"mb", kMib}};

/// A member that is a peak of memory; the exact ones first.
struct PeakMember {
  std::string key;
  const Unit* unit;
  MemoryStatistic statistic;
  bool certain;  // the name says what is counted
};

std::optional<PeakMember> peak_member(const std::string& key) {
  static const std::regex kPeak("^(?:peak|max)_mem(?:ory)?_|^mem(?:ory)?_(?:peak|max)_"),
      kUnit("_(bytes|gib|mib|gb|mb)(?:_|$)"), kOther("_(?:per_pp_stage|derived)(?:_|$)");
  std::smatch unit;
  if (!std::regex_search(key, kPeak) || std::regex_search(key, kOther) ||
      !std::regex_search(key, unit, kUnit))
    return std::nullopt;
  const auto says = [&key](std::string_view word) { return mentions(key, word); };
  const bool device = says("nvidia_smi") || says("device");
  const auto* of = std::ranges::find(kUnits, unit.str(1), &Unit::name);
  if (says("allocated")) return PeakMember{key, of, MemoryStatistic::kAllocated, true};
  if (says("reserved")) return PeakMember{key, of, MemoryStatistic::kReserved, true};
  // nvidia-smi prints MiB.
  const bool prints = device || of->name == "mib";
  return PeakMember{key, of, prints ? MemoryStatistic::kDevice : MemoryStatistic::kReserved,
                    device};
}

/// Less comes first: torch's own count, then units that leave nothing open.
int rank_of(const PeakMember& m) {
  const bool allocated = m.statistic == MemoryStatistic::kAllocated;
  const auto unit = static_cast<int>(m.unit - kUnits);
  return (allocated ? 0 : 10) + unit + (unit >= 3 && !m.certain ? 10 : 0);
}

}  // namespace

void read_peak_memory(RecordPart& measured, Measured& out) {
  std::vector<PeakMember> members;
  for (const Json* member : measured.json().children()) {
    if (auto peak = peak_member(member->key())) members.push_back(std::move(*peak));
  }
  std::ranges::stable_sort(members, {}, rank_of);
  for (const PeakMember& m : members) {
    const auto value = measured.amount(m.key);
    if (!value || out.memory_bytes) continue;
    out.memory_bytes = *value * m.unit->bytes;
    out.memory_statistic = m.statistic;
    // nvidia-smi's own are known.
    const bool printed = m.certain && m.statistic == MemoryStatistic::kDevice;
    out.memory_taken = printed                ? ""
                       : m.unit->name == "gb" ? "GB of 2^30 bytes"
                       : m.unit->name == "mb" ? "MB of 2^20 bytes"
                                              : "";
  }
}

}  // namespace plait
