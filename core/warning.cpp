#include "core/warning.h"

#include <iterator>
#include <string_view>
#include <utility>

namespace plait {
namespace {

constexpr std::string_view kBehindCode = ": ";

}  // namespace

std::string printed(const Warning& w) {
  return w.code.empty() ? w.text : w.code + std::string(kBehindCode) + w.text;
}

std::vector<std::string> printed(const Warnings& warnings) {
  std::vector<std::string> out;
  for (const Warning& w : warnings) out.push_back(printed(w));
  return out;
}

Warning read_warning(const std::string& printed) {
  const std::size_t code = printed.find(kBehindCode);
  if (code == std::string::npos || code == 0) return {"", printed};
  return {printed.substr(0, code), printed.substr(code + kBehindCode.size())};
}

void append(Warnings& to, Warnings more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace plait
