#include "core/compiled.h"

#include <unordered_map>

namespace plait {

const std::regex& compiled(const std::string& pattern) {
  thread_local std::unordered_map<std::string, std::regex> known;
  const auto at = known.find(pattern);
  return at != known.end() ? at->second : known.emplace(pattern, pattern).first->second;
}

}  // namespace plait
