#include "core/error.h"

#include <fmt/format.h>

#include "core/spelling.h"

namespace plait {

std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7F ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return out;
}

namespace {

std::string rendered(const InputError::Text& t) {
  std::string out = "error[" + t.code + "]: " + printable(t.problem);
  const Where& w = t.where;
  std::string place;
  if (!w.file.empty()) {
    place = w.file;
    if (w.line > 0) place += fmt::format(":{}", w.line);
    if (w.line > 0 && w.column > 0) place += fmt::format(":{}", w.column);
  }
  if (!w.path.empty() && !place.empty()) place = w.path + std::string(" (") + place + ")";
  if (!w.path.empty() && place.empty()) place = w.path;
  if (!place.empty()) out += "\n  --> " + printable(place);
  if (!t.expected.empty()) out += "\n  expected: " + printable(t.expected);
  if (!t.cure.empty()) out += "\n  cure: " + printable(t.cure);
  return out;
}

}  // namespace

InputError::InputError(Text text) : std::runtime_error(rendered(text)), text_(std::move(text)) {}

void fail_check(const char* condition, const char* file, int line, const std::string& detail) {
  throw InternalError(std::string("internal error: ") + detail + " (" + condition + " at " + file +
                      ":" + std::to_string(line) + ")");
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = word.size() / 2 + 1;  // farther than half the word is no typo
  for (const std::string& c : candidates) {
    const std::size_t d = edit_distance(word, c);
    if (d < best_distance) best = c, best_distance = d;
  }
  return best;
}

}  // namespace plait
