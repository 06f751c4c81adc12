#include "scenarios/published/fabric_words.h"

#include <fmt/format.h>

#include <regex>

#include "core/parse_number.h"
#include "scenarios/published/not_representable.h"

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
  static const std::regex kInfiniBand(R"(\b([EHNX])DR\b)"),
      kSlingshot(R"([Ss]lingshot[- ]?(1[01]))");
  std::smatch found;
  if (std::regex_search(words, found, kInfiniBand)) {
    const char letter = found[1].str()[0];
    return letter == 'E' ? 100 : letter == 'H' ? 200 : letter == 'N' ? 400 : 800;
  }
  if (std::regex_search(words, found, kSlingshot)) return found[1] == "10" ? 100 : 200;
  return 0;
}

/// Rates as "400 Gb/s", of which sources write "400Gbps", "400Gb", "400G", "NDR400", "100GbE",
/// "3.2 Tb/s". NVLink's own are none of a fabric.
std::string in_gigabits(std::string words) {
  static const std::regex kNvlink(R"(NV(?:[Ll]ink|Switch)[^;,+]*GB/s(?:\s*per GPU)?)"),
      kTerabits(R"((\d+(?:\.\d+)?)\s*T(?:b/s|bps))"), kEthernet(R"((\d+)\s*Gb(?:E\b|\s+Ethernet))"),
      kShort(R"((\d+)\s*G(?:bps|b?(?![\w/])))"),
      kGeneration(R"(\b([EHNX])DR[- ]?(\d{3})\b(?!\s*Gb))");
  words = std::regex_replace(words, kNvlink, "NVLink");
  std::smatch found;
  if (std::regex_search(words, found, kTerabits)) {
    const std::string rate = fmt::format("{:.0f} Gb/s", 1000 * group(found, 1));
    words = found.prefix().str() + rate + found.suffix().str();
  }
  words = std::regex_replace(words, kEthernet, "$1 Gb/s Ethernet");
  words = std::regex_replace(words, kShort, "$1 Gb/s");
  return std::regex_replace(words, kGeneration, "$2 Gb/s");
}

/// `total` Gbit/s of a node, dealt to as many NICs as make a usual port.
FabricWords dealt(double total, std::int64_t gpus_per_node) {
  for (const std::int64_t nics :
       {gpus_per_node, std::int64_t{8}, std::int64_t{4}, std::int64_t{2}}) {
    const double each = total / static_cast<double>(nics);
    if (each == 100 || each == 200 || each == 400 || each == 800) return {nics, each, false};
  }
  return {1, total, false};
}

/// A number of NICs behind their rate, or before their generation alone. "4X" is InfiniBand's
/// lanes.
std::int64_t nics_beside_rate(const std::string& words) {
  static const std::regex kBefore(R"(\b(\d{1,2})\s*x\s*(?:[A-Za-z][\w-]*\s+){0,2}[EHNX]DR\b)"),
      kBehind(R"(\d\s*Gb/s(?:\s+[A-Za-z][\w-]*){0,2}\s+x\s*(\d{1,2})\b)");
  std::smatch found;
  const bool said =
      std::regex_search(words, found, kBefore) || std::regex_search(words, found, kBehind);
  return said ? static_cast<std::int64_t>(group(found, 1)) : 0;
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
          R"((\d+)\s*(Gb/s|GB/s)\s*(?:(?:[A-Za-z]\w*\s+){0,2}per (?:node|instance|server|machine)|node-node|IB/RoCE node-node))"),
      kEach(R"((\d+)\s*(Gb/s|GB/s)\s+(?:RDMA|IB)?\s*(?:\([^)]*\)\s*)?per GPU)"),
      kOne(R"(\b(?:[Oo]ne|[Ss]ingle)\s+(?:[A-Za-z][\w-]*\s+){0,2}(\d+)\s*Gb/s)"),
      kRails(R"(\b([Dd]ual|[Tt]wo)[- ])"), kPort(R"((\d+)\s*Gb/s)");
  std::smatch m;
  const auto finds = [&](const std::regex& what) {
    return std::regex_search(interconnect, m, what);
  };
  if (finds(kCounted)) {
    const std::int64_t owners = of_each_gpu(m.suffix().str()) ? gpus_per_node : 1;
    return {owners * static_cast<std::int64_t>(group(m, 1)), gigabits(m, 2)};
  }
  if (finds(kLinks)) return {static_cast<std::int64_t>(group(m, 1)), group(m, 2)};
  if (finds(kOne)) return {1, group(m, 1)};
  if (finds(kNode)) return dealt(gigabits(m, 1), gpus_per_node);
  if (finds(kEach)) return {gpus_per_node, gigabits(m, 1)};
  const double rate = finds(kPort) ? group(m, 1) : rate_of_generation(interconnect);
  if (rate > kFastestPort) return dealt(rate, gpus_per_node);
  const std::int64_t counted = of_each_gpu(interconnect) ? 0 : nics_beside_rate(interconnect);
  if (rate > 0 && counted > 0) return {counted, rate};
  return {rate > 0 && finds(kRails) ? 2 : 0, rate};
}

}  // namespace

FabricWords read_fabric(const std::string& words, std::int64_t gpus_per_node) {
  static const std::regex kEthernet("RoCE|[Ee]thernet|[Ss]lingshot"), kEfa("EFA"),
      kOmniPath("Omni-Path");
  const std::string interconnect = in_gigabits(words);
  FabricWords out = rates_in(interconnect, gpus_per_node);
  out.ethernet = std::regex_search(interconnect, kEthernet);
  out.efa = std::regex_search(interconnect, kEfa);
  out.omni_path = std::regex_search(interconnect, kOmniPath);
  return out;
}

}  // namespace plait
