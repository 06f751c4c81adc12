#include "scenarios/published/rate_spelling.h"

#include <fmt/format.h>

#include <regex>

#include "core/parse_number.h"
#include "scenarios/published/not_representable.h"

namespace plait {
namespace {

/// A pattern that is sought in small and large letters.
std::regex in_any_case(const char* pattern) { return std::regex(pattern, std::regex::icase); }

/// "1.6 Tb/s" as "1600 Gb/s".
std::string without_terabits(std::string words) {
  static const std::regex kTerabits(
      R"((\d+(?:\.\d+)?)\s*(?:[Tt](?:b|[Bb]its?|era[Bb]its?)(?:\s*/s(?:ec)?|ps)?|T)(?![\w/]))");
  std::smatch found;
  while (std::regex_search(words, found, kTerabits)) {
    const auto rate = parse_number<double>(found.str(1));
    if (!rate || *rate > 1e6)
      throw NotRepresentable(fmt::format("\"{}\" says no rate of a fabric", found.str()));
    const std::string gigabits = fmt::format("{:.0f} Gb/s", 1000 * *rate);
    words = found.prefix().str() + gigabits + found.suffix().str();
  }
  return words;
}

/// Without rates of what is within a node, "NVLink 3 (600 GB/s)" and "900 GB/s NVLink", and
/// without the memory of boards, "A100-80G".
std::string without_nodes_own(std::string words) {
  static const std::regex kBehind(
      R"((?:N[Vv](?:L(?:ink|INK)|link|S(?:witch|WITCH)|switch)|nv(?:link|switch)|PCI[Ee]|xGMI|Infinity Fabric|[Ii]ntra[-_ ]?node)[^;,+]*[GT]B/s(?!\s*(?:\w+\s+)?(?:IB|InfiniBand|RoCE|Ethernet|EFA)\b)(?:\s*(?:per |/)GPU)?)"),
      kBefore(R"(\d+(?:\.\d+)?\s*[GT]B/s\s+(?:N[Vv](?:[Ll]ink|[Ss]witch)|PCIe|xGMI))"),
      kBoard(R"(\b([A-Z]{1,2}\d{2,3}\w*(?:-\w+)*)-\d{2,3}GB?\b)");
  words = std::regex_replace(words, kBehind, "NVLink");
  words = std::regex_replace(words, kBefore, "NVLink");
  return std::regex_replace(words, kBoard, "$1");
}

}  // namespace

std::string in_gigabits(std::string words) {
  static const std::regex kBytes(
      R"((\d+(?:\.\d+)?)\s*([GT])(?:B|[Bb]ytes?|iga[Bb]ytes?)(?:\s*/s(?:ec)?|ps)(?!\w))"),
      kEthernet(in_any_case(
          R"((\d+(?:\.\d+)?)\s*g(?:b|ig|bit|bps|bit/s|b/s|igabit)?[\s-]*E(?:thernet)?\b)")),
      kBits(in_any_case(
          R"((\d+(?:\.\d+)?)\s*(?:g(?:iga)?bits?(?:\s*/s(?:ec)?|ps)?|gbps|g)(?![\w/]))")),
      kShort(R"((\d+(?:\.\d+)?)\s*(?:[Gg]b/s(?:ec)?|Gb)(?![\w/]))"),
      kGeneration(in_any_case(R"(\b([EHNX])DR[- ]?(\d{3})\b(?!\s*Gb))"));
  words = without_nodes_own(std::regex_replace(words, kBytes, "$1 $2B/s"));
  words = without_terabits(std::move(words));
  words = std::regex_replace(words, kEthernet, "$1 Gb/s Ethernet");
  words = std::regex_replace(words, kBits, "$1 Gb/s");
  words = std::regex_replace(words, kShort, "$1 Gb/s");
  return std::regex_replace(words, kGeneration, "$2 Gb/s");
}

bool has_other_number(std::string words) {
  static const std::regex kNames(in_any_case(
      R"(\b(?:nvlink|nvswitch|nvl|pcie|gen|cx|connectx|[dh]gx)[- ]?v?\d+(?:\.\d+)?)"
      R"(|\b\d+\s*x\s*[a-z]{1,2}\d\w*(?:-\w+)*)"
      R"(|\b\d+[\s-]*(?:x\s*)?(?:gpu|node|server|machine|rack|device|host|tray|tier|level)s?\b)")),
      kNumber(R"((?:^|[^\w.-])\d)");
  return std::regex_search(std::regex_replace(words, kNames, ""), kNumber);
}

}  // namespace plait
