#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace plait {
namespace {

std::string render(const InputError::Text& t) {
  std::string out = "error[" + t.code + "]: " + t.problem;
  const Where& w = t.where;
  std::string place;
  if (!w.file.empty()) {
    place = w.file;
    if (w.line > 0) place += fmt::format(":{}:{}", w.line, w.column);
  }
  if (!w.path.empty() && !place.empty()) place = w.path + std::string(" (") + place + ")";
  if (!w.path.empty() && place.empty()) place = w.path;
  if (!place.empty()) out += "\n  --> " + place;
  if (!t.expected.empty()) out += "\n  expected: " + t.expected;
  if (!t.cure.empty()) out += "\n  cure: " + t.cure;
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

InputError::InputError(Text text) : std::runtime_error(render(text)), text_(std::move(text)) {}

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
