#include "scenarios/published/fabric_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "core/parse_number.h"
#include "core/spelling.h"
#include "scenarios/published/not_representable.h"
#include "scenarios/published/phrases.h"
#include "scenarios/published/rate_spelling.h"

namespace plait {
namespace {

double group(const std::smatch& found, std::size_t i) {
  const auto number = parse_number<double>(found.str(i));
  if (!number || *number > 1e9)
    throw NotRepresentable(fmt::format("\"{}\" says no rate of a fabric", found.str()));
  return *number;
}

/// A rate in Gbit/s, whose unit is the next group.
double gigabits(const std::smatch& found, std::size_t i) {
  return group(found, i) * (found[i + 1] == "GB/s" ? 8 : 1);
}

/// The port's rate of a generation that is named alone, in Gbit/s; 0: none is.
int rate_of_generation(const std::string& words) {
  static const std::regex kInfiniBand(R"(\b([EHNX])DR\b)", std::regex::icase),
      kSlingshot(R"(slingshot[- ]?(1[01]))", std::regex::icase);
  std::smatch found;
  if (std::regex_search(words, found, kInfiniBand)) {
    const std::string letter = lower_case(found.str(1));
    return letter == "e" ? 100 : letter == "h" ? 200 : letter == "n" ? 400 : 800;
  }
  if (std::regex_search(words, found, kSlingshot)) return found[1] == "10" ? 100 : 200;
  return 0;
}

/// `total` Gbit/s of a node, dealt to its NICs, or as many as make a usual port.
FabricWords dealt(double total, std::int64_t gpus_per_node, std::int64_t nics_said) {
  if (nics_said > 0) return {nics_said, total / static_cast<double>(nics_said)};
  for (const std::int64_t nics :
       {gpus_per_node, std::int64_t{8}, std::int64_t{4}, std::int64_t{2}}) {
    const double each = total / static_cast<double>(nics);
    if (each == 100 || each == 200 || each == 400 || each == 800) return {nics, each};
  }
  return {1, total};
}

/// A number of NICs: "4 NICs", behind their rate, or before their generation alone. "4X" is
/// InfiniBand's lanes.
std::int64_t nics_said(const std::string& words) {
  static const std::regex kNics(
      R"(\b(\d{1,2})\s*(?:x\s*)?(?:[A-Za-z][\w-]*\s+){0,2}(?:NIC|HCA|[Rr]ail)s?\b)"),
      kBefore(R"(\b(\d{1,2})\s*x\s*(?:[A-Za-z][\w-]*\s+){0,2}[EHNX]DR\b)"),
      kBehind(R"(\d\s*Gb/s(?:\s+[A-Za-z][\w-]*){0,2}\s+x\s*(\d{1,2})\b)");
  std::smatch found;
  for (const std::regex* what : {&kNics, &kBefore, &kBehind}) {
    if (std::regex_search(words, found, *what)) return static_cast<std::int64_t>(group(found, 1));
  }
  return 0;
}

/// "800 Gb/s (8x100)": the rate of all, and its parts.
FabricWords parts_said(const std::string& words) {
  static const std::regex kParts(
      R"((\d+(?:\.\d+)?)\s*Gb/s[^;]*?\b(\d{1,2})\s*[x*]\s*(\d+(?:\.\d+)?)\b(?!\s*G))");
  std::smatch found;
  const bool parts = std::regex_search(words, found, kParts) && group(found, 2) > 0 &&
                     group(found, 1) == group(found, 2) * group(found, 3);
  return parts ? FabricWords{static_cast<std::int64_t>(group(found, 2)), group(found, 3)}
               : FabricWords{};
}

/// Whether what stands behind a number of NICs deals them to each GPU, not to a node.
bool of_each_gpu(const std::string& behind) {
  static const std::regex kGpu(R"(^[^;,+]*(?:\bper\s+|/|\beach\s+)GPU\b)");
  return std::regex_search(behind, kGpu);
}

/// No port is faster: what is said to be is a node's.
constexpr double kFastestPort = 800;  // Gbit/s

FabricWords rates_in(const std::string& interconnect, std::int64_t gpus_per_node) {
  static const std::regex kCounted(
      R"((\d+)\s*[x*]\s*(?:[A-Za-z][\w-]*\s+){0,2}(\d+(?:\.\d+)?)\s*(Gb/s|GB/s))"),
      kLinks(R"((\d+) Omni-Path[^;]*;\s*(\d+)\s*Gb/s per link)"),
      kNode(
          R"((\d+(?:\.\d+)?)\s*(Gb/s|GB/s)\s*(?:(?:[A-Za-z]\w*\s+){0,2}per (?:node|instance|server|machine)|node-node|IB/RoCE node-node))"),
      kEach(R"((\d+(?:\.\d+)?)\s*(Gb/s|GB/s)\s+(?:RDMA|IB)?\s*(?:\([^)]*\)\s*)?per GPU)"),
      kOne(R"(\b(?:[Oo]ne|[Ss]ingle)\s+(?:[A-Za-z][\w-]*\s+){0,2}(\d+(?:\.\d+)?)\s*(Gb/s|GB/s))"),
      kRails(R"(\b([Dd]ual|[Tt]wo)[- ])"), kPort(R"((\d+(?:\.\d+)?)\s*(Gb/s|GB/s))");
  if (const FabricWords parts = parts_said(interconnect); parts.nics > 0) return parts;
  const std::int64_t counted = of_each_gpu(interconnect) ? 0 : nics_said(interconnect);
  std::smatch m;
  const auto finds = [&](const std::regex& what) {
    return std::regex_search(interconnect, m, what);
  };
  if (finds(kCounted)) {
    const std::int64_t owners = of_each_gpu(m.suffix().str()) ? gpus_per_node : 1;
    return {owners * static_cast<std::int64_t>(group(m, 1)), gigabits(m, 2)};
  }
  if (finds(kLinks)) return {static_cast<std::int64_t>(group(m, 1)), group(m, 2)};
  if (finds(kOne)) return {1, gigabits(m, 1)};
  if (finds(kNode)) return dealt(gigabits(m, 1), gpus_per_node, counted);
  if (finds(kEach)) return {gpus_per_node, gigabits(m, 1)};
  const double rate = finds(kPort) ? gigabits(m, 1) : rate_of_generation(interconnect);
  if (rate > kFastestPort) return dealt(rate, gpus_per_node, counted);
  if (counted > 0) return {counted, rate};
  return {rate > 0 && finds(kRails) ? 2 : 0, rate};
}

/// "oversubscribed 2:1", "1:2 oversubscription". 1: none is said; 0: its ratio is not.
double oversubscription_in(const std::string& words) {
  static const std::regex kRatio(R"(\b(\d+(?:\.\d+)?)\s*:\s*(\d+(?:\.\d+)?)\b)");
  if (!asserted(words, R"(over-?subscri)")) return 1;
  std::smatch found;
  if (!std::regex_search(words, found, kRatio)) return 0;
  const double a = group(found, 1), b = group(found, 2);
  return a > 0 && b > 0 ? std::max(a, b) / std::min(a, b) : 0;
}

}  // namespace

FabricWords read_fabric(const std::string& words, std::int64_t gpus_per_node) {
  const std::string interconnect = in_gigabits(words);
  const auto says = [&](const char* pattern) { return asserted(words, pattern).has_value(); };
  FabricWords out = rates_in(interconnect, gpus_per_node);
  out.ethernet = says("roce|ethernet|slingshot") || asserted(interconnect, "ethernet");
  out.efa = says(R"(\befa)");
  out.omni_path = says("omni-?path");
  out.no_nvlink = said_in(words, "nvlink|nvswitch") == false || says(R"(\bpcie[ -]only\b)");
  out.oversubscription = oversubscription_in(words);
  out.unread = out.oversubscription == 0 || (out.gigabits == 0 && has_other_number(interconnect));
  return out;
}

}  // namespace plait
