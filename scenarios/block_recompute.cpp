#include "scenarios/block_recompute.h"

#include <regex>

#include "core/parse_number.h"

namespace plait {

std::optional<std::int64_t> layers_of_block(const std::string& text) {
  static const std::regex kMethod(R"(\bblock\b)"), kOther(R"(^selective)");
  static const std::regex kCounts[] = {std::regex(R"(num[-_ ]layers\W{0,3}(\d{1,6})\b)"),
                                       std::regex(R"(\bblock\W{0,3}(\d{1,6})\b)"),
                                       std::regex(R"(\b(\d{1,6}) *layers?\b)")};
  if (!std::regex_search(text, kMethod) || std::regex_search(text, kOther)) return std::nullopt;
  std::smatch found;
  for (const std::regex& count : kCounts) {
    if (std::regex_search(text, found, count)) return parse_number<std::int64_t>(found.str(1));
  }
  return std::nullopt;
}

}  // namespace plait
