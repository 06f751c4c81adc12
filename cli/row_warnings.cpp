#include "cli/row_warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

namespace plait {
namespace {

constexpr std::size_t kNamed = 3;

struct SharedWarning {
  std::string text;
  std::vector<std::string> labels;
};

std::string labels_text(std::vector<std::string> labels) {
  const std::size_t more = labels.size() - std::min(kNamed, labels.size());
  labels.resize(labels.size() - more);
  return fmt::format(" [{}{}]", fmt::join(labels, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

std::vector<std::string> warnings_of_rows(const std::vector<RowWarnings>& rows) {
  std::vector<SharedWarning> found;
  for (const RowWarnings& row : rows) {
    for (const std::string& text : row.warnings) {
      auto at = std::ranges::find(found, text, &SharedWarning::text);
      if (at == found.end()) at = found.insert(found.end(), {text, {}});
      at->labels.push_back(row.label);
    }
  }
  std::vector<std::string> out;
  for (const SharedWarning& w : found) {
    out.push_back(w.labels.size() == rows.size() ? w.text : w.text + labels_text(w.labels));
  }
  return out;
}

}  // namespace plait
