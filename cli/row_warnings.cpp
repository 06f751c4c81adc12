#include "cli/row_warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace plait {
namespace {

constexpr std::size_t kNamed = 3;

struct SharedWarning {
  Warning warning;
  std::vector<std::string> labels;
};

std::string labels_text(std::vector<std::string> labels) {
  const std::size_t more = labels.size() - std::min(kNamed, labels.size());
  labels.resize(labels.size() - more);
  return fmt::format(" [{}{}]", fmt::join(labels, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

Warnings warnings_of_rows(const std::vector<RowWarnings>& rows) {
  std::vector<SharedWarning> found;
  for (const RowWarnings& row : rows) {
    for (const Warning& warning : row.warnings) {
      const auto is_same = [line = printed(warning)](const SharedWarning& other) {
        return printed(other.warning) == line;
      };
      auto at = std::ranges::find_if(found, is_same);
      if (at == found.end()) at = found.insert(found.end(), {warning, {}});
      at->labels.push_back(row.label);
    }
  }
  Warnings out;
  for (SharedWarning& w : found) {
    if (w.labels.size() < rows.size()) w.warning.text += labels_text(w.labels);
    out.push_back(std::move(w.warning));
  }
  return out;
}

}  // namespace plait
